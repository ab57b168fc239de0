"""Identities: the parts alone decide, and no two lists of parts, and no two keys, are ever the same."""

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model import ids
from counterfoil.model.conversation import message_key
from counterfoil.model.ids import KeyFormat, decode_key, encode_key

PARTS = st.lists(st.text(), max_size=4)
OPERATIONS = st.builds(ids.operation_id, st.text(), st.integers(0), st.text(), st.text(), st.integers(0))
# The ends of the 112 bits, where a shift that loses one would show.
OPERATIONS |= st.sampled_from(["op_" + "0" * 23, "op_" + "3" + "v" * 22, "op_" + "0" * 22 + "1", "op_2" + "0" * 22])
NUMBERS = st.integers(0, 255)
FORMATS = st.sampled_from(KeyFormat)

SHAPES = {
    KeyFormat.TEXT: r"op_[0-9a-v]{23}-\d{1,3}",
    KeyFormat.BASE32HEX: r"[0-9a-v]{24}",
    KeyFormat.UUID: r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
}


@given(PARTS, PARTS)
def test_only_equal_parts_give_an_equal_id(one: list[str], other: list[str]) -> None:
    assert (ids.derived("op", *one) == ids.derived("op", *other)) == (one == other)


@pytest.mark.parametrize(("one", "other"), [(("ab", "c"), ("a", "bc")), (("a", ""), ("a",)), (("", "a"), ("a", ""))])
def test_parts_do_not_run_into_one_another(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert ids.derived("op", *one) != ids.derived("op", *other)


def test_the_kind_of_thing_is_a_part() -> None:
    assert ids.derived("op", "a")[3:] != ids.derived("run", "a")[4:]


@given(OPERATIONS, NUMBERS, FORMATS)
def test_a_key_gives_back_what_it_was_made_of(operation: str, number: int, form: KeyFormat) -> None:
    key = encode_key(operation, number, form)
    assert decode_key(key, form) == (operation, number)  # so no two operations or numbers share a key
    assert re.fullmatch(SHAPES[form], key)


@given(OPERATIONS, NUMBERS)
def test_a_uuid_is_one_for_everybody(operation: str, number: int) -> None:
    key = UUID(encode_key(operation, number, KeyFormat.UUID))
    assert (key.version, key.variant) == (8, "specified in RFC 4122")


@pytest.mark.parametrize("form", KeyFormat)
@pytest.mark.parametrize("number", [-1, 256])
def test_a_key_number_that_does_not_fit_is_refused_and_never_cut(number: int, form: KeyFormat) -> None:
    with pytest.raises(ValueError, match=f"{number} is not between 0 and 255"):
        encode_key("op_" + "0" * 23, number, form)


NAMED = {
    "run": lambda *parts: ids.run_id(*map(str, parts[:3])),
    "conv": lambda *parts: ids.conversation_id(*map(str, parts[:2])),
    "op": lambda *parts: ids.operation_id(str(parts[0]), parts[1], str(parts[2]), str(parts[3]), parts[4]),
    "att": lambda *parts: ids.attempt_id(str(parts[0]), parts[1]),
    "rcp": lambda *parts: ids.receipt_id(*map(str, parts[:3])),
    "prop": lambda *parts: ids.proposal_id(str(parts[0]), parts[1]),
    "rev": lambda *parts: ids.review_id(str(parts[0]), parts[1], parts[2]),
}
USED = {"run": 3, "conv": 2, "op": 5, "att": 2, "rcp": 3, "prop": 2, "rev": 3}


@pytest.mark.parametrize("prefix", NAMED)
def test_every_part_of_an_identity_counts(prefix: str) -> None:
    """Left out, a part would make one operation of two: another occurrence, generation or position."""
    made = NAMED[prefix]
    first = made(1, 2, 3, 4, 5)
    assert re.fullmatch(rf"{prefix}_[0-9a-v]{{23}}", first)
    others = [made(*[9 if n == changed else n for n in (1, 2, 3, 4, 5)]) for changed in range(1, USED[prefix] + 1)]
    assert len({first, *others}) == USED[prefix] + 1
    assert made(1, 2, 3, 4, 5) == first


def test_identities_that_are_stored_stay_as_they_are() -> None:
    """Derived anew with other letters, an old operation would be sent again. Never change these lines."""
    assert ids.run_id("inst", "refund", "r-1") == RUN
    assert ids.operation_id(RUN, 0, "3", "create_refund", 0) == OPERATION
    assert [encode_key(OPERATION, 1, form) for form in KeyFormat] == KEYS


RUN = "run_2iidj1jl63k5k610k42olb1"
OPERATION = "op_2pmhbcijlgocl8qukk9es9v"
KEYS = ["op_2pmhbcijlgocl8qukk9es9v-1", "mdkar4ktc635a6nl52bn2fo1", "2cda2b64-a758-8619-951a-f52897713f01"]


def test_a_document_is_named_by_its_scope_its_key_and_its_name() -> None:
    parts = [("i", "agent", "desk", "notes"), ("i", "key", "desk", "notes"), ("i", "agent", "notes", "desk")]
    assert len({ids.document_id(*each) for each in parts}) == 3
    assert ids.document_id(*parts[0]).startswith("doc_")


def test_a_messages_key_is_its_conversation_and_its_request() -> None:
    assert message_key("conv_1", "r 1") == "conv_1\x1fr 1" != message_key("conv_1r", " 1")
