"""What a pool and its workers say to each other; each `Call` gets one `Done`, `Failed` or `Unreadable`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tensordict.utils import NestedKey

    from reference_impl.pool.layout import Layout
    from reference_impl.pool.values import Values


class Operation(enum.Enum):
    """What a worker can be asked; the value is the name that users meet in errors."""

    RESET = "reset"
    STEP = "step"
    STEP_AND_MAYBE_RESET = "step_and_maybe_reset"
    PRIVATE_RESET = "_reset"
    PRIVATE_STEP = "_step"
    STEP_THEN_RESET = "step_and_maybe_reset (all envs)"
    SET_SEED = "set_seed"
    CALL = "call"
    GET_ATTR = "get_attr"
    SET_ATTR = "set_attr"
    UPDATE_ENV_PARAMS = "update_env_params"
    ENV_PARAMS_VERSIONS = "env_params_versions"
    STATE_DICT = "state_dict"
    LOAD_STATE_DICT = "load_state_dict"


BY_CODE: Final = tuple(Operation)  # an operation is a number where there are numbers only
CODES: Final = {operation: code for code, operation in enumerate(BY_CODE)}
CONTROLS: Final = frozenset(
    {
        *(Operation.CALL, Operation.GET_ATTR, Operation.SET_ATTR, Operation.UPDATE_ENV_PARAMS),
        *(Operation.ENV_PARAMS_VERSIONS, Operation.STATE_DICT, Operation.LOAD_STATE_DICT),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to one env.

    Attributes:
        request: its id, never used again by this pool.
        operation: what to do.
        values: the env's row of the caller's tensordict; None if there is none.
        kwargs: further keyword arguments of the env's method.
        place: which of its worker's envs is asked, counted from 0.
    """

    request: int
    operation: Operation
    values: Values | None
    kwargs: dict[str, Any]
    place: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # As `Values`: several times cheaper than field by field.
        code = CODES[self.operation]
        return _call, (self.request, code, self.values, self.kwargs, self.place)


def _call(
    request: int, code: int, values: Values | None, kwargs: dict[str, Any], place: int
) -> Call:
    return Call(request=request, operation=BY_CODE[code], values=values, kwargs=kwargs, place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    """The first message to a worker that was given a wire.

    Attributes:
        layout: how the shared memory is used; None: not at all.
        strict: whether a result that has no place in it is a failure; else it is sent by value.
    """

    layout: Layout | None
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The request to close the env and end; it has no reply but the end itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The reply to a call that went well; `result` depends on the operation."""

    request: int
    result: Any
    place: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _done, (self.request, self.result, self.place)


def _done(request: int, result: Any, place: int) -> Done:
    return Done(request=request, result=result, place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The reply to a call that raised.

    Attributes:
        request: the id of the call.
        cause: the exception in one line.
        traceback: the worker's formatted traceback.
        place: of the env that was asked.
    """

    request: int
    cause: str
    traceback: str
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """The reply to something that a worker could not rebuild: the id went with it.

    Attributes:
        cause: what rebuilding it raised, in one line.
        traceback: the worker's formatted traceback.
    """

    cause: str
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The first messages of a worker, one an env, in their order: it is there.

    Attributes:
        specs: the env's `specs`.
        batch_size: the env's own batch size.
        reset_keys: its `reset_keys`.
    """

    specs: Any
    batch_size: tuple[int, ...]
    reset_keys: tuple[NestedKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuilt:
    """The last message of a worker that could not make its next env."""

    cause: str
    traceback: str
