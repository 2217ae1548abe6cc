"""Text from elsewhere is made printable and bounded."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.text import compact, excerpt, one_line, pairs, printable

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=40)


@given(ANYTHING)
def test_printable_text_is_allowed_in_xml(text: str):
    element = ET.Element("a")
    element.text = printable(text)
    assert ET.fromstring(ET.tostring(element, encoding="unicode")).text == (printable(text) or None)


@given(ANYTHING)
def test_printable_text_is_not_changed_again(text: str):
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("a\x00b\x1fc", "a\u2400b\u241fc"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_cannot_be_shown_is_removed_or_made_visible(text: str, shown: str):
    assert printable(text) == shown


def test_one_line_says_how_much_it_left_out():
    assert one_line("a" * 15, 10) == "a" * 10 + "… (+5 characters)"


def test_one_line_joins_lines():
    assert one_line("a\n  b\tc") == "a b c"


def test_the_end_of_a_file_says_so():
    part = excerpt(b"end", 10, "end")
    assert (part.text, part.note) == ("end", "the last 3 of 10 bytes")


def test_a_whole_file_has_no_note():
    assert excerpt(b"all", 3, "start").note is None


def test_bytes_that_are_no_utf8_are_shown_as_replaced():
    assert excerpt(b"a\xffb", 3, "end").text == "a\ufffdb"


def test_a_value_nested_too_deeply_does_not_raise():
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    shown = compact(value)
    while value:  # freed level by level, since the destructor recurses too
        value = value.pop()  # type: ignore[assignment]  # each level holds the next
    assert shown == "(nested too deeply to show)"


def test_pairs_name_their_values():
    assert pairs({"a": 1, "b": "text", "c": None}) == "a=1 b=text c=null"
