"""What a probe shows in any form is read back, and whatever was changed on the way is seen."""

from __future__ import annotations

import copy
import typing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import probe
from harness.payloads import forms
from harness.ports.pool import Payload

PAYLOADS: tuple[Payload, ...] = typing.get_args(Payload)
ENV = 3
each_payload = pytest.mark.parametrize("payload", PAYLOADS)


def record(step: int = 2, action: int = 7) -> tuple[int, ...]:
    return probe.encode(env_index=ENV, incarnation=4_194_303, episode=1, step=step, action=action)


def written(payload: Payload, **kwargs: int) -> Any:
    return forms.write(forms.form_of(payload, ENV), record(**kwargs))


def read(payload: Payload, tree: Any) -> list[float]:
    return forms.read(forms.form_of(payload, ENV), tree)


def refused(payload: Payload, tree: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is what is asked for
        read(payload, tree)
    return str(caught.value)


@each_payload
def test_what_was_written_is_read_back(payload):
    assert read(payload, written(payload)) == list(record())


@pytest.mark.parametrize("payload", [p for p in PAYLOADS if p != "special"])  # a NaN is a NaN
@given(data=st.data())
def test_no_element_can_change_unseen(payload, data):
    tree = copy.deepcopy(written(payload))
    leaf = data.draw(st.sampled_from([leaf for _, leaf in forms.leaves(tree)]))
    flat = leaf.reshape(-1).view(np.uint8)
    at = data.draw(st.integers(0, flat.size - 1))
    flat[at] ^= 0x40
    try:
        entries = read(payload, tree)
        assert not probe.decode(entries).whole
    except ValueError:
        pass  # it was seen before it could be decoded


@each_payload
def test_another_type_with_the_same_numbers_is_refused(payload):
    tree = written(payload)
    path, leaf = forms.leaves(tree)[0]
    other = leaf.astype(np.float64)
    if path:
        tree[path[0]] = other
    else:
        tree = other
    assert "got float64" in refused(payload, tree)


@each_payload
def test_another_shape_with_the_same_numbers_is_refused(payload):
    tree = written(payload)
    path, leaf = forms.leaves(tree)[0]
    if path:
        tree[path[0]] = leaf[None]
    else:
        tree = leaf[None]
    assert ", got " in refused(payload, tree)


def test_a_key_that_is_missing_is_named():
    tree = written("nested")
    del tree["inner"]["number"]
    assert refused("nested", tree) == "inner/number is missing"


def test_a_key_that_nobody_wrote_is_named():
    tree = written("nested")
    tree["inner"]["more"] = tree["state"]
    assert "inner/more" in refused("nested", tree)


def test_leaves_of_two_steps_do_not_go_together():
    tree = written("nested")
    tree["inner"]["number"] = written("nested", step=3)["inner"]["number"]
    assert refused("nested", tree).startswith("state shows ")


@pytest.mark.parametrize("half", [slice(None, 42), slice(42, None)])
def test_an_image_whose_halves_are_of_two_steps_is_refused(half):
    image = written("image")
    image[half] = written("image", step=3)[half]
    assert "byte" in refused("image", image)


def test_special_values_arrive_as_they_are_or_are_refused():
    assert "is 0.0, not nan" in refused("special", np.nan_to_num(written("special")))


def test_a_number_is_exact_to_its_last_bit():
    assert "no packed record" in refused("scalar", written("scalar") + 1)


def test_envs_that_differ_have_different_shapes():
    assert [len(forms.write(forms.form_of("differing", i), record())) for i in (0, 2)] == [8, 10]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"action": 4095}, "action up to 4094, got 4095"),
        ({"step": 256}, "step up to 255, got 256"),
    ],
)
def test_what_does_not_fit_into_a_packed_record_is_not_written(fields, text):
    for payload in ("scalar", "nested"):
        with pytest.raises(ValueError, match=text):
            written(payload, **fields)


def test_a_negative_action_is_packed_as_nobodys():
    assert probe.decode(read("scalar", written("scalar", action=-2))).action == 4094


def test_the_largest_fields_are_packed_and_read_back():
    largest = {name: probe.packed_max(name) for name, *_ in probe.PACKED}
    form, entries = forms.form_of("scalar", 0), probe.encode(**largest)
    assert forms.read(form, forms.write(form, entries)) == list(entries)


def test_a_stamp_that_a_float_does_not_hold_is_not_written():
    entries = probe.encode(env_index=0, incarnation=1, episode=16_778, step=0, action=7)
    with pytest.raises(ValueError, match="a stamp of at most 16777216, got 16778000"):
        forms.write(forms.form_of("plain", 0), entries)
