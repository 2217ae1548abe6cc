"""A failure travels as text, and names the first cause."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from reference_impl.weights.messages import Ack, Failure, LoadWeights, Payload, failure_of

NOTHING: dict[str, int] = {}


def raised(raiser) -> Any:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it raises is looked at
        raiser()
    return caught.value


def chained() -> Any:
    try:
        NOTHING["first"]
    except KeyError as error:
        raise RuntimeError("second") from error


def in_a_handler() -> Any:
    try:
        NOTHING["first"]
    except KeyError:
        raise RuntimeError("second")  # noqa: B904 - the implicit chain is what is tested


def cut_off() -> Any:
    try:
        NOTHING["first"]
    except KeyError:
        raise RuntimeError("second") from None


@pytest.mark.parametrize(
    ("raiser", "cause"),
    [
        (chained, "KeyError: 'first'"),
        (in_a_handler, "KeyError: 'first'"),
        (cut_off, "RuntimeError: second"),
    ],
)
def test_the_cause_is_the_first_of_a_chain(raiser, cause):
    assert failure_of(raised(raiser)).cause == cause


def test_the_traceback_shows_the_function_that_raised():
    assert "in chained" in failure_of(raised(chained)).traceback


def test_a_cause_is_one_line():
    assert failure_of(ValueError("one\ntwo")).cause == "ValueError: one"


def test_an_error_without_words_is_named_by_its_type():
    assert failure_of(ValueError()).cause == "ValueError"


def test_messages_are_the_same_after_pickling():
    payload = Payload(
        offset=0, nbytes=4096, layout=1, header_nbytes=1, data_offset=128, data_nbytes=8
    )
    load = LoadWeights(request_id=3, version=2, payload=payload)
    ack = Ack(request_id=3, version=2, failure=Failure(cause="c", traceback="t"))
    assert pickle.loads(pickle.dumps((load, ack))) == (load, ack)
