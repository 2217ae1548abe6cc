"""Blocks of calls alone: each finds every env reset and idle, and leaves it so."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from harness.generate.derive import drawn
from harness.generate.ground import (
    BARE,
    COLLECTOR,
    EVERYWHERE,
    OFTEN,
    Form,
    Ground,
    Steps,
    form,
    steps_of,
)
from harness.model.scenario import Placement
from harness.ports.leave import Leave
from harness.ports.pool_verbs import (
    GiveBack,
    Recv,
    Reset,
    ResetWhere,
    Rollout,
    Seed,
    Send,
    Shutdown,
    Step,
)

SEED_MAX = 2  # neighbours, and few enough for one to come again
HEALTHY_S = (None, 2.0)
REFUSED_S = 0.1
FLAT = frozenset({"plain", "scalar", "image", "huge", "special"})


def masks(ground: Ground, among: frozenset[int] = frozenset()) -> SearchStrategy[tuple[bool, ...]]:
    """Masks that name some env; one of `among` if there are any."""
    wanted = among or frozenset(ground.envs)
    drawn_masks = st.tuples(*(st.booleans() for _ in ground.envs))
    certain = st.sampled_from(sorted(wanted))
    return st.builds(
        lambda mask, env: tuple(one or i == env for i, one in enumerate(mask)), drawn_masks, certain
    )


def partial_resets(ground: Ground) -> SearchStrategy[Steps]:
    """Some envs are reset."""
    return steps_of(drawn(ResetWhere, mask=masks(ground)))


def _rollouts(ground: Ground) -> SearchStrategy[Steps]:
    return steps_of(drawn(Rollout, frames=st.just(ground.frames)))


def _exchanges(_: Ground) -> SearchStrategy[Steps]:
    return steps_of(st.just(Send()), drawn(Recv, timeout_s=st.sampled_from(HEALTHY_S)))


def _seedings(_: Ground) -> SearchStrategy[Steps]:
    """What the envs draw is told at the reset that follows."""
    return steps_of(drawn(Seed, value=st.integers(0, SEED_MAX)), st.just(Reset()))


def _surplus_receives(_: Ground) -> SearchStrategy[Steps]:
    """Nothing was sent: whoever waits for that raises, at once or by the timeout, and steps work."""
    receives = [Recv(timeout_s=each, refusable=True) for each in (REFUSED_S, None)]
    return steps_of(st.sampled_from(receives), st.just(Step()))


def _empty_masks(ground: Ground) -> SearchStrategy[Steps]:
    nobody = tuple(False for _ in ground.envs)
    return st.just((ResetWhere(mask=nobody, refusable=True),))


def _calls_while_pending(ground: Ground) -> SearchStrategy[Steps]:
    """A call while results are pending is refused or works; the reset after it ends the doubt."""
    calls: list[SearchStrategy[Steps]] = [st.just((Reset(refusable=True),))]
    if PARTIAL_RESETS.possible(ground):
        calls.append(masks(ground).map(lambda mask: (ResetWhere(mask=mask, refusable=True),)))
    late = Recv(timeout_s=REFUSED_S, refusable=True)
    return st.one_of(*calls).map(lambda call: (Send(), *call, late, Reset()))


def _sent_twice(_: Ground) -> SearchStrategy[Steps]:
    late = Recv(timeout_s=REFUSED_S, refusable=True)
    return st.just((Send(), Send(refusable=True), Recv(timeout_s=2.0), late, Reset()))


def _lends(ground: Ground) -> bool:
    """Whether batches can be lent: they lie by column, and no worker is replaced."""
    setup = ground.setup
    columns = setup.exchange == "slots" and setup.stack != "lazy" and setup.payload in FLAT
    return columns and setup.on_worker_failure == "raise"


def _loans(_: Ground) -> SearchStrategy[Steps]:
    return st.just((Send(), Recv(lent=True), Send(refusable=True), GiveBack(), Reset()))


def shutdowns(_: Ground) -> SearchStrategy[Steps]:
    """The pool is closed, maybe again, and maybe in another thread."""
    return steps_of(drawn(Shutdown, thread=st.booleans()))


def can_leave(ground: Ground) -> bool:
    """Whether the scenario may leave its process: a thread of ours that logs would print meanwhile."""
    return "leave" in ground.kinds and ground.setup.built != "among_threads"


def farewells(ground: Ground) -> SearchStrategy[Steps]:
    """What comes after a call that has failed: the pool is closed, or nobody catches it."""
    uncaught = [st.just((Leave(how="uncaught"),))] if can_leave(ground) else []
    return st.one_of(shutdowns(ground), *uncaught)


def ways(ground: Ground) -> list[str]:
    """How the envs can be made to step."""
    forms = {"step": STEPS, "send": EXCHANGES, "rollout": ROLLOUTS}
    return [way for way, each in forms.items() if each.possible(ground)]


def stepping(ground: Ground, way: str, k: int) -> tuple[Steps, Steps]:
    """A call of one kind that comes before a fault is armed, and those that then come to its k-th step."""
    match way:
        case "step":
            return (Step(),), (Step(times=k),)
        case "send":
            return (Send(), Recv()), (*(Send(), Recv()) * (k - 1), Send(), Recv())
        case _:
            return (Rollout(frames=ground.frames),), (Rollout(frames=ground.frames),)


def meetings(ground: Ground, at: Placement) -> SearchStrategy[tuple[Steps, Steps]]:
    """Calls of one kind: one to come before a fault is armed, and those that then come to it."""
    if at.op == "reset":
        return st.one_of(*_resetting(ground, at))
    return st.sampled_from([stepping(ground, way, at.k) for way in ways(ground)])


def _resetting(ground: Ground, at: Placement) -> list[SearchStrategy[tuple[Steps, Steps]]]:
    whole: tuple[Steps, Steps] = ((), (Reset(),))
    found = [st.just(whole)]
    if PARTIAL_RESETS.possible(ground):
        index = at.role.partition(":")[2]
        among = frozenset({int(index)}) if index else frozenset[int]()
        meeting = steps_of(drawn(ResetWhere, mask=masks(ground, among)))
        found.append(st.tuples(partial_resets(ground), meeting))
    return found


PARTIAL_RESETS = form("reset_where", draw=partial_resets, lanes=True)
STEPS = form("step", draw=lambda _: steps_of(drawn(Step)), lanes=True, weight=OFTEN)
EXCHANGES = form("send", "recv", draw=_exchanges, hosts=BARE, weight=OFTEN)
ROLLOUTS = form("rollout", draw=_rollouts, hosts=COLLECTOR, weight=OFTEN)

BLOCKS: tuple[Form, ...] = (
    STEPS,
    form("reset", draw=lambda _: steps_of(drawn(Reset)), lanes=True),
    PARTIAL_RESETS,
    EXCHANGES,
    ROLLOUTS,
    form("seed", draw=_seedings),
    form("reset_where", draw=_empty_masks),
    form("send", "recv", "step", draw=_surplus_receives, hosts=BARE),
    form("send", "recv", draw=_calls_while_pending, hosts=BARE),
    form("send", "recv", draw=_sent_twice, hosts=BARE),
    form("give_back", "send", "recv", draw=_loans, hosts=BARE, fits=_lends),
)
SHUTDOWN = form("shutdown", draw=shutdowns, hosts=EVERYWHERE, lanes=True)
