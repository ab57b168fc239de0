"""Stable identities. Derived once, stored, carried; never derived again for something that is stored.

An id is 112 bits and a key number 8, so that a receiver's key of 25 characters or a UUID holds both (design section 3).
"""

import hashlib
from enum import StrEnum
from uuid import UUID

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"  # base32hex, lower case
_ID_BITS, _NUMBER_BITS = 112, 8
_ID_LENGTH = 23


class KeyFormat(StrEnum):
    """The shapes in which receivers take a key. Each is injective over (operation id, key number)."""

    TEXT = "text"  # op_<23>-<number>, at most 30 characters
    BASE32HEX = "base32hex"  # 24 characters of 0-9 and a-v
    UUID = "uuid"  # a version 8 UUID

    @property
    def length(self) -> int:
        """Characters of the longest key in this shape."""
        return {"text": 30, "base32hex": 24, "uuid": 36}[self.value]


def _hash(*parts: str) -> int:
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        digest.update(
            len(raw).to_bytes(4, "big")
        )  # lengths first, so that no two lists of parts join to the same bytes
        digest.update(raw)
    return int.from_bytes(digest.digest()[: _ID_BITS // 8], "big")


def _base32(number: int, length: int) -> str:
    return "".join(_ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(length)))


def _number(text: str) -> int:
    number = 0
    for letter in text:
        number = number << 5 | _ALPHABET.index(letter)
    return number


def derived(prefix: str, *parts: str) -> str:
    """`prefix_` and 23 letters, a function of the parts alone."""
    return f"{prefix}_{_base32(_hash(prefix, *parts), _ID_LENGTH)}"


def run_id(installation: str, workflow: str, request_id: str) -> str:
    return derived("run", installation, workflow, request_id)


def conversation_id(installation: str, name: str) -> str:
    return derived("conv", installation, name)


def document_id(installation: str, scope: str, key: str, name: str) -> str:
    return derived("doc", installation, scope, key, name)


def operation_id(run: str, generation: int, position: str, name: str, occurrence: int) -> str:
    return derived("op", run, str(generation), position, name, str(occurrence))


def attempt_id(operation: str, n: int) -> str:
    return derived("att", operation, str(n))


def receipt_id(operation: str, how: str, body_digest: str) -> str:
    """The same evidence has the same id, so a webhook that comes twice is one receipt."""
    return derived("rcp", operation, how, body_digest)


def proposal_id(operation: str, version: int) -> str:
    return derived("prop", operation, str(version))


def review_id(operation: str, version: int, round_: int) -> str:
    return derived("rev", operation, str(version), str(round_))


def encode_key(operation: str, key_number: int, form: KeyFormat) -> str:
    """The key that the receiver gets. Injective, never truncated."""
    if not 0 <= key_number < 1 << _NUMBER_BITS:
        raise ValueError(f"key number {key_number} is not between 0 and 255")
    number = _number(operation.removeprefix("op_")) << _NUMBER_BITS | key_number
    if form is KeyFormat.TEXT:
        return f"{operation}-{key_number}"
    if form is KeyFormat.BASE32HEX:
        return _base32(number, 24)
    high, low = number >> 62, number & (1 << 62) - 1  # 58 + 62 bits around the version and variant bits of a UUID
    return str(UUID(int=(high >> 12) << 80 | 8 << 76 | (high & 0xFFF) << 64 | 2 << 62 | low))


def decode_key(key: str, form: KeyFormat) -> tuple[str, int]:
    """(operation id, key number) of a key that `encode_key` made."""
    if form is KeyFormat.TEXT:
        operation, _, number = key.rpartition("-")
        return operation, int(number)
    if form is KeyFormat.BASE32HEX:
        value = _number(key)
    else:
        whole = UUID(key).int
        high = (whole >> 80) << 12 | (whole >> 64) & 0xFFF
        value = high << 62 | whole & (1 << 62) - 1
    return "op_" + _base32(value >> _NUMBER_BITS, _ID_LENGTH), value & 0xFF
