"""What `inspect.signature` says of a class whose metaclass takes any arguments, as `EnvBase`'s does."""

from __future__ import annotations

import inspect
from typing import Any


class InitSignature:
    """The `__signature__` of a class: the arguments of its `__init__`; its instances have none."""

    def __get__(self, instance: object, owner: Any) -> inspect.Signature:
        """Return it.

        Raises:
            AttributeError: an instance is asked.
        """
        if instance is not None:
            raise AttributeError("__signature__")
        of_init = inspect.signature(owner.__init__)
        arguments = list(of_init.parameters.values())[1:]
        return of_init.replace(parameters=arguments, return_annotation=of_init.empty)
