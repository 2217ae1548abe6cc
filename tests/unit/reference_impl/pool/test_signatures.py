"""A pool says what it takes, though its metaclass takes anything."""

from __future__ import annotations

import inspect

import pytest

from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.signatures import InitSignature


class AnyArguments(type):
    """Makes instances of any arguments, as torchrl's metaclass does."""

    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Base(metaclass=AnyArguments):
    """Takes one argument."""

    __signature__ = InitSignature()

    def __init__(self, first):
        self.first = first


class Further(Base):
    """Takes another."""

    def __init__(self, second):
        super().__init__(second)


def test_a_pool_shows_the_arguments_it_takes():
    assert {"env_makers", "exchange", "on_worker_failure"} <= {
        *inspect.signature(AsyncEnvPool).parameters
    }


@pytest.mark.parametrize(("kind", "shown"), [(Base, "(first)"), (Further, "(second)")])
def test_a_class_shows_the_arguments_of_its_own_init(kind, shown):
    assert str(inspect.signature(kind)).replace("'", "") == shown


def test_an_instance_has_no_signature_of_its_class():
    assert not hasattr(Base(1), "__signature__")
