"""Whoever leaves the conversation, however, leaves it to the next."""

from __future__ import annotations

import itertools

from reference_impl.core.clock import Deadline
from reference_impl.weights.conversation import Conversation
from tests.unit.reference_impl.interrupts import interrupted_at


def test_an_interrupt_does_not_keep_the_turn():
    talk = Conversation(1)

    def asks() -> None:
        with talk.turn("ask", Deadline.after(0.0)):
            talk.begin((0,))

    for point in itertools.count():
        interrupted = interrupted_at(point, asks)
        asks()
        if not interrupted:
            break
    assert point > 10
