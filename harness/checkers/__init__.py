"""The invariants: pure functions from a history to what is wrong with it."""

from harness.checkers.acks_aligned import CHECKER as ACKS_ALIGNED
from harness.checkers.as_declared import CHECKER as AS_DECLARED
from harness.checkers.as_freshly_built import CHECKER as AS_FRESHLY_BUILT
from harness.checkers.bounded_calls import CHECKER as BOUNDED_CALLS
from harness.checkers.bounded_memory import CHECKER as BOUNDED_MEMORY
from harness.checkers.bounded_shutdown import CHECKER as BOUNDED_SHUTDOWN
from harness.checkers.clean_exit import CHECKER as CLEAN_EXIT
from harness.checkers.episode_model import CHECKER as EPISODE_MODEL
from harness.checkers.expected_outcome import CHECKER as EXPECTED_OUTCOME
from harness.checkers.failure_attributed import CHECKER as FAILURE_ATTRIBUTED
from harness.checkers.idempotent_close import CHECKER as IDEMPOTENT_CLOSE
from harness.checkers.idle_when_blocked import CHECKER as IDLE_WHEN_BLOCKED
from harness.checkers.layout import CHECKER as LAYOUT
from harness.checkers.models_independent import CHECKER as MODELS_INDEPENDENT
from harness.checkers.no_leaks import CHECKER as NO_LEAKS
from harness.checkers.no_loss_no_dup import CHECKER as NO_LOSS_NO_DUP
from harness.checkers.no_orphans import CHECKER as NO_ORPHANS
from harness.checkers.no_torn_forward import CHECKER as NO_TORN_FORWARD
from harness.checkers.ownership import CHECKER as OWNERSHIP
from harness.checkers.params_applied import CHECKER as PARAMS_APPLIED
from harness.checkers.reset_mask import CHECKER as RESET_MASK
from harness.checkers.routing import CHECKER as ROUTING
from harness.checkers.rows_whole import CHECKER as ROWS_WHOLE
from harness.checkers.same_workers import CHECKER as SAME_WORKERS
from harness.checkers.seeds_distinct import CHECKER as SEEDS_DISTINCT
from harness.checkers.setup_order import CHECKER as SETUP_ORDER
from harness.checkers.spec_conformance import CHECKER as SPEC_CONFORMANCE
from harness.checkers.trajectories_contiguous import CHECKER as TRAJECTORIES_CONTIGUOUS
from harness.checkers.transforms_reinitialised import CHECKER as TRANSFORMS_REINITIALISED
from harness.checkers.usable_after import CHECKER as USABLE_AFTER
from harness.checkers.weights_fresh import CHECKER as WEIGHTS_FRESH
from harness.checkers.weights_isolated import CHECKER as WEIGHTS_ISOLATED
from harness.checkers.worker_restarts import CHECKER as WORKER_RESTARTS
from harness.checkers.writes_input import CHECKER as WRITES_INPUT
from harness.ports.checkers import Checker

CHECKERS: tuple[Checker, ...] = (
    AS_DECLARED,
    ROUTING,
    EPISODE_MODEL,
    RESET_MASK,
    OWNERSHIP,
    SPEC_CONFORMANCE,
    WRITES_INPUT,
    SEEDS_DISTINCT,
    PARAMS_APPLIED,
    AS_FRESHLY_BUILT,
    TRANSFORMS_REINITIALISED,
    SAME_WORKERS,
    WORKER_RESTARTS,
    BOUNDED_CALLS,
    BOUNDED_SHUTDOWN,
    IDEMPOTENT_CLOSE,
    NO_LEAKS,
    BOUNDED_MEMORY,
    IDLE_WHEN_BLOCKED,
    CLEAN_EXIT,
    NO_ORPHANS,
    FAILURE_ATTRIBUTED,
    USABLE_AFTER,
    EXPECTED_OUTCOME,
    NO_TORN_FORWARD,
    WEIGHTS_ISOLATED,
    WEIGHTS_FRESH,
    ACKS_ALIGNED,
    SETUP_ORDER,
    MODELS_INDEPENDENT,
    ROWS_WHOLE,
    NO_LOSS_NO_DUP,
    LAYOUT,
    TRAJECTORIES_CONTIGUOUS,
)
"""Every checker, in the order in which a report lists them."""
