"""`reset_mask`: masked envs restart, all others do not move, and the mask stays the caller's."""

from __future__ import annotations

from harness.checkers._shared import POOL, AnswerChecker, named, resets_in_step
from harness.checkers._walk import PassedOver, Restart, Transition, moves
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "reset_mask"


def check(history: History) -> Judgement:
    """Judge each partial reset by its rows, by the envs' own counters, and by what they do next."""
    same_step = resets_in_step(history)
    findings: list[Finding] = []
    for move in moves(history):
        if move.operation.op != "reset_where" and not isinstance(move, Transition):
            continue
        match move:
            case Restart():
                findings += _restarted(history, move)
            case PassedOver():
                findings += _left_alone(history, move)
            case Transition():
                findings += _continued(move, same_step=same_step)
    partial = [op for op in history.operations if op.op == "reset_where" and op.completed]
    findings += [found for op in partial if (found := _mask_changed(op))]
    return Judgement(findings=tuple(findings), judged=len(partial))


def _restarted(history: History, move: Restart) -> list[Finding]:
    seen = None if move.row is None else move.row.observation
    if seen is None:
        if _observed_resets(history, move.operation, move.env):
            text = (
                f"{named(move.operation)} has no row of env {move.env}, which it was asked to reset"
            )
            return [] if move.row is not None else [_finding(text, move.operation)]
        text = f"env {move.env} was asked to reset by {named(move.operation)}, and did not"
        return [_finding(text, move.operation)]
    if seen.step == 0 and not (
        move.before is not None
        and move.before.incarnation == seen.incarnation
        and seen.episode <= move.before.episode
    ):
        return []
    text = f"env {move.env} was asked to reset by {named(move.operation)}, and is at step "
    text += f"{seen.step} of episode {seen.episode}"
    if move.before is not None:
        text += f" after step {move.before.step} of episode {move.before.episode}"
    return [_finding(text, move.operation)]


def _left_alone(history: History, move: PassedOver) -> list[Finding]:
    findings = []
    resets = _observed_resets(history, move.operation, move.env) if move.idle else []
    if resets:
        text = f"env {move.env} was reset during {named(move.operation)}, whose mask leaves it out"
        findings.append(_finding(text, move.operation, resets))
    shown = None if move.row is None else move.row.observation
    if shown is not None and move.before is not None and shown != move.before:
        text = (
            f"{named(move.operation)} leaves env {move.env} out, and shows it at step {shown.step} "
            f"of episode {shown.episode} instead of its last observation, step {move.before.step} "
            f"of episode {move.before.episode}"
        )
        findings.append(_finding(text, move.operation))
    return findings


def _continued(move: Transition, *, same_step: bool) -> list[Finding]:
    """The first step of an env after it was left alone goes on where it was."""
    landed = move.row.landed(same_step=same_step)
    before = move.before
    if not move.passed_over or before is None or landed is None or landed.env_index != move.row.env:
        return []
    expected = (before.episode + 1, 0) if move.due else (before.episode, before.step + 1)
    if (landed.episode, landed.step) == expected:
        return []
    last = move.passed_over[-1]
    text = (
        f"{named(last)} leaves env {move.row.env} out, and its next step led to step "
        f"{landed.step} of episode {landed.episode}, not to step {expected[1]} of episode "
        f"{expected[0]}"
    )
    return [
        Finding(
            checker=NAME,
            text=text,
            contract=Contract.EQUIVALENCE,
            events=(*last.events, *move.operation.events),
        )
    ]


def _mask_changed(operation: Operation) -> Finding | None:
    given, after = operation.arguments.get("mask"), operation.result.get("mask_after")
    if after is None or given is None or list(given) == list(after):
        return None
    text = f"{named(operation)} changed the caller's mask from {list(given)} to {list(after)}"
    return _finding(text, operation)


def _observed_resets(history: History, operation: Operation, env: int) -> list[Event]:
    """The resets that the env itself saw while the operation ran."""
    assert operation.completed is not None
    return [
        event
        for event in history.of_kind(Kind.OBSERVE)
        if event.op == "reset"
        and event.role == f"worker:{env}"
        and operation.invoked.ts_ns <= event.ts_ns <= operation.completed.ts_ns
    ]


def _finding(text: str, operation: Operation, seen: list[Event] | None = None) -> Finding:
    events = (*operation.events, *(event.seq for event in seen or ()))
    return Finding(checker=NAME, text=text, contract=Contract.EQUIVALENCE, events=events)


CHECKER = AnswerChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"reset_where"}))
