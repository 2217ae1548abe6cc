"""Factories of every kind that users write: some are pickled by name, some only by value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, assert_never, cast

from harness.payloads.env import CountingEnv, CountingEnvFactory
from harness.ports.pool import EnvFactory, FactoryKind


def shaped(kind: FactoryKind, factory: CountingEnvFactory) -> EnvFactory:
    """A callable of this kind that makes what `factory` makes.

    A partial pickles; closures, lambdas and objects of local classes do by value only, as
    cloudpickle does it.
    """
    made: Any
    match kind:
        case "plain":
            return factory
        case "partial":
            made = _Partial(_make, factory)
        case "closure":
            made = _closure(factory)
        case "lambda":
            made = lambda: factory()  # noqa: E731, PLW0108 - a lambda is what is wanted
        case "local_class":
            made = _local_object(factory)
        case _:
            assert_never(kind)
    made.env_index, made.payload = factory.env_index, factory.payload
    return cast("EnvFactory", made)


class _Partial(functools.partial[CountingEnv]):
    """A partial that keeps its attributes: multiprocessing pickles plain ones without."""


def _make(factory: CountingEnvFactory) -> CountingEnv:
    return factory()


def _closure(factory: CountingEnvFactory) -> Callable[[], CountingEnv]:
    def make() -> CountingEnv:
        return factory()

    return make


def _local_object(factory: CountingEnvFactory) -> Callable[[], CountingEnv]:
    class Maker:
        def __call__(self) -> CountingEnv:
            return factory()

    return Maker()
