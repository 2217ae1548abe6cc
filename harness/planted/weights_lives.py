"""Wrong weight sync over several models, and over the lives of workers: who joins later, who waits."""

from __future__ import annotations

from typing import Any, ClassVar

from harness.payloads.policy import ValueNetwork
from harness.planted.weights import replaced
from reference_impl.core.clock import Deadline
from reference_impl.weights import sender_calls, worker_calls
from reference_impl.weights.messages import Ack, LoadWeights
from reference_impl.weights.outgoing import Outgoing
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.target import Target


class _CountedTogether(Receiver):
    """Counts an update of any model as a version of the policy; processes only, which have one policy each."""

    policy: ClassVar[Target | None] = None

    def __init__(self, target: Target, *args: Any, **kwargs: Any) -> None:
        super().__init__(target, *args, **kwargs)
        if not isinstance(target.model, ValueNetwork):
            _CountedTogether.policy = target

    def _answer(self, message: LoadWeights) -> Ack:
        ack = super()._answer(message)
        policy = _CountedTogether.policy
        if self.answered and policy is not None and isinstance(self.target.model, ValueNetwork):
            policy.version += 1
        return ack


class _PolicyOnly(Receiver):
    """Acknowledges updates of other models and applies those of the policy."""

    def _answer(self, message: LoadWeights) -> Ack:
        if self.answered and isinstance(self.target.model, ValueNetwork):
            return Ack(request_id=message.request_id, version=message.version, failure=None)
        return super()._answer(message)


class _BroughtTheFirst(Outgoing):
    """Brings whoever joins later what the trainer's model held at first."""

    _first: Any = None

    def connect(self, workers: tuple[int, ...], weights: Any, *args: Any, **kwargs: Any) -> None:
        """Keep the weights of the first connection, and use them again for one worker."""
        if self._first is None:
            model: Any = self.recipe.base()
            self._first = {name: each.clone() for name, each in model.state_dict().items()}
        elif len(workers) == 1:
            weights = self._first
        super().connect(workers, weights, *args, **kwargs)


class _RecipeDeleted(Outgoing):
    """Deletes the recipe of the first weights once it was used."""

    _is_used = False

    def connect(self, *args: Any, **kwargs: Any) -> None:
        """Connect once."""
        if self._is_used:
            raise AttributeError("'Outgoing' object has no attribute 'recipe'")
        self._is_used = True
        super().connect(*args, **kwargs)


class _WaitsForNobody(Outgoing):
    def wait(self, deadline: Deadline) -> int:
        """Return at once."""
        del deadline
        return self.sender.version


models_counted_together = replaced(
    "models_counted_together", worker_calls, "Receiver", _CountedTogether
)
other_models_forgotten = replaced("other_models_forgotten", worker_calls, "Receiver", _PolicyOnly)
restarted_on_the_first = replaced(
    "restarted_on_the_first", sender_calls, "Outgoing", _BroughtTheFirst
)
recipe_deleted = replaced("recipe_deleted", sender_calls, "Outgoing", _RecipeDeleted)
waits_for_nobody = replaced("waits_for_nobody", sender_calls, "Outgoing", _WaitsForNobody)
