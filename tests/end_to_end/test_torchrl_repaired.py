"""The judges judge torchrl: repairing two of its defects turns exactly their rows green."""

from __future__ import annotations

import pytest

from tests.end_to_end.command import harness, outcomes

pytestmark = pytest.mark.slow

REPAIRED = "tests.backends.torchrl_repaired:backend"
TURN_GREEN = {
    "pool/closed_result_channel[transport=process]",
    "pool/publicly_closed_result_channel[transport=process]",
    "pool/collected_with_closed_readers[transport=process]",
    "pool/collected_during_receive[transport=process]",
    "pool/collector_rollout[stack=dense,transport=thread]",
    "pool/collector_rollout[stack=dense,transport=process]",
    "pool/collector_rollout[stack=lazy,transport=thread]",
    "pool/collector_rollout[stack=lazy,transport=process]",
    "pool/rollouts_as_specified[host=collector,transport=thread]",
    "pool/rollouts_as_specified[host=collector,transport=process]",
}

# Beside those: what torchrl does well, and what it does badly for other reasons.
SCENARIOS = [
    f"scenarios/pool/{name}.toml"
    for name in (
        *sorted({row.partition("/")[2].partition("[")[0] for row in TURN_GREEN}),
        "clean_run",
        "failing_env",
        "held_batches",
        "held_batches_of_threads",
        "killed_worker",
        "partial_reset",
        "returned_as_specified",
        "seeded_resets",
        "slots_clean_run",
        "stalled_env",
        "surplus_receive",
    )
]


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """Outcomes of these rows on released torchrl and on the repaired one, without the backend."""
    reports = tmp_path_factory.mktemp("repaired")
    harness("run", *SCENARIOS, "--backend", "torchrl", "--backend", REPAIRED, "--reports", reports)
    released: dict[str, str] = {}
    repaired: dict[str, str] = {}
    for cell, outcome in outcomes(reports).items():
        name, _, backend = cell.rpartition("@")
        (repaired if backend.startswith("torchrl_repaired") else released)[name] = outcome
    return released, repaired


def test_exactly_the_rows_of_the_repaired_defects_turn_green(
    columns: tuple[dict[str, str], dict[str, str]],
):
    released, repaired = columns
    changed = {
        name: (outcome, repaired[name])
        for name, outcome in released.items()
        if repaired[name] != outcome
    }
    assert {name: after for name, (_, after) in changed.items()} == dict.fromkeys(
        TURN_GREEN, "PASS"
    ), changed


def test_every_row_that_turns_green_was_a_failure_or_a_hang(
    columns: tuple[dict[str, str], dict[str, str]],
):
    released, _ = columns
    assert {released[name] for name in TURN_GREEN} == {"FAIL", "HANG"}
