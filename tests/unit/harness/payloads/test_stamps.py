"""Stamped rows: each says who wrote it, and whether it is whole."""

from __future__ import annotations

import numpy as np
import pytest

from harness.payloads.stamps import read, rows_of, spoilt

FORMS = ("plain", "wide", "nested")


@pytest.mark.parametrize("form", FORMS)
def test_rows_say_who_wrote_them_and_which_they_are(form):
    rows = rows_of(1, 7, (3,), form, 5)
    assert read(rows, form, 5) == [{"stream": 1, "number": n} for n in (7, 8, 9)]


@pytest.mark.parametrize("form", FORMS)
def test_each_env_of_a_row_is_a_stream_of_its_own(form):
    rows = rows_of(2, 1, (2, 3), form, 5)
    told = [(each["stream"], each["number"]) for each in read(rows, form, 5, 2)]
    assert told == [(6, 1), (7, 1), (8, 1), (6, 2), (7, 2), (8, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_an_array_of_another_row_is_told(form):
    one, other = rows_of(0, 1, (1,), form, 5), rows_of(1, 4, (1,), form, 5)
    for key in set(one) - {"stream", "number"}:
        (told,) = read({**one, key: other[key]}, form, 5)
        assert told["wrong"] == [key]


@pytest.mark.parametrize("form", FORMS)
def test_memory_that_was_never_written_is_of_nobody(form):
    zeros = {key: np.zeros_like(value) for key, value in rows_of(0, 1, (1,), form, 5).items()}
    (told,) = read(zeros, form, 5)
    assert (told["stream"], told["number"]) == (-1, 0)
    assert told["wrong"]


def test_one_element_of_an_array_that_is_another_rows_is_told():
    rows = rows_of(0, 1, (2,), "wide", 5)
    rows["body"][1, -1] = 0
    assert [each.get("wrong") for each in read(rows, "wide", 5)] == [None, ["body"]]


@pytest.mark.parametrize("form", FORMS)
def test_an_array_that_is_missing_is_told_of_every_element(form):
    rows = rows_of(0, 1, (2,), form, 5)
    for key in set(rows) - {"stream", "number"}:
        told = read({name: rows[name] for name in rows if name != key}, form, 5)
        assert [each["wrong"] for each in told] == [[f"{key} (missing)"]] * 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", ["stream", "number"])
def test_elements_without_a_part_of_their_stamp_are_told(form, part):
    rows = rows_of(0, 1, (2,), form, 5)
    told = read({name: rows[name] for name in rows if name != part}, form, 5)
    assert [f"{part} (missing)" in each["wrong"] for each in told] == [True, True]


@pytest.mark.parametrize("form", FORMS)
def test_an_array_of_another_type_is_told_though_its_numbers_are_right(form):
    rows = rows_of(0, 1, (1,), form, 5)
    for key, array in rows.items():
        (told,) = read({**rows, key: array.astype("longdouble")}, form, 5)
        assert told["wrong"] == [f"{key} ({np.dtype('longdouble')}, and not {array.dtype})"]


@pytest.mark.parametrize("form", FORMS)
def test_an_array_of_another_shape_is_told_though_its_numbers_are_right(form):
    rows = rows_of(0, 1, (1,), form, 5)
    for key, array in rows.items():
        (told,) = read({**rows, key: array[..., None]}, form, 5)
        shape = f"of shape {(*array.shape[1:], 1)}, and not {array.shape[1:]}"
        assert f"{key} ({shape})" in told["wrong"]


def test_rows_that_are_all_of_one_env_are_told_where_they_were_of_several():
    flat = {
        key: value.reshape(6, *value.shape[2:])
        for key, value in rows_of(0, 1, (2, 3), "plain", 5).items()
    }
    assert all(each["wrong"] for each in read(flat, "plain", 5, 2))


@pytest.mark.parametrize("dims", [1, 2])
def test_nothing_at_all_is_no_row(dims):
    assert read({}, "plain", 5, dims) == []


@pytest.mark.parametrize("form", FORMS)
def test_no_rows_say_nothing(form):
    assert read(rows_of(0, 1, (0,), form, 5), form, 5) == []


@pytest.mark.parametrize("form", FORMS)
def test_spoilt_batches_differ_in_what_was_asked_for(form):
    rows = rows_of(0, 1, (2,), form, 5)
    assert len(spoilt(rows, "missing_key")) == len(rows) - 1
    for defect in ("shape", "dtype"):
        wrong = spoilt(rows, defect)
        (changed,) = [key for key in rows if wrong[key] is not rows[key]]
        same = getattr(wrong[changed], defect) == getattr(rows[changed], defect)
        assert not same
