"""A credential that comes back is not kept: a receiver may echo it, and a transport or an SDK may quote it in its complaint.

It may come back written otherwise: escaped in JSON, as a Python literal, percent-encoded, in base64 beside other bytes.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

HIDDEN = "[credential]"
_SHORTEST = 6  # what is shorter is no secret, and would be found in every text
_SHORTEST_CORE = 8  # of base64, which has no shape of its own
_ESCAPES = ("\\", "%", "&#")
_OUTSIDE = "surrogateescape"  # bytes that are no text go through as they are


def secrets_of(headers: Mapping[str, str], others: Sequence[str] = ()) -> tuple[str, ...]:
    """What must not be kept of these headers: their values, and what follows a scheme's name; and `others`. The longest first."""
    whole = {*headers.values(), *others}
    parts = {value.partition(" ")[2].strip() for value in whole}
    return tuple(sorted((each for each in whole | parts if len(each) >= _SHORTEST), key=len, reverse=True))


def hidden(text: str, secrets: tuple[str, ...]) -> str:
    """The text without them, however they are written there."""
    for secret in secrets:
        for written in _written(secret):
            text = text.replace(written, HIDDEN)
        if any(mark in text for mark in _ESCAPES):
            text = _escaped(secret).sub(HIDDEN, text)
    return text


def hidden_bytes(body: bytes, secrets: tuple[str, ...]) -> bytes:
    """The same of a body. Other bytes stay as they are."""
    if not secrets:
        return body
    return hidden(body.decode("utf-8", _OUTSIDE), secrets).encode("utf-8", _OUTSIDE)


@lru_cache(maxsize=64)
def _written(secret: str) -> tuple[str, ...]:
    """Its spellings that are found as they stand."""
    cores = [core for start in range(3) for core in _cores(secret.encode("utf-8", _OUTSIDE), start)]
    coded = [way for core in cores for way in (core, core.replace("/", "\\/"), quote(core, safe=""))]
    return tuple(dict.fromkeys([secret, repr(secret)[1:-1], *coded]))


def _cores(secret: bytes, start: int) -> list[str]:
    """What base64 writes of it behind `start` bytes of a group of three, without what its neighbours decide as well."""
    first, last = -(-start * 8 // 6), (start + len(secret)) * 8 // 6
    both = (base64.b64encode(bytes(start) + secret), base64.urlsafe_b64encode(bytes(start) + secret))
    return [text.decode()[first:last] for text in both if last - first >= _SHORTEST_CORE]


@lru_cache(maxsize=64)
def _escaped(secret: str) -> re.Pattern[str]:
    """It, where each character stands for itself or is escaped, as JSON, Python, an address or HTML does it."""
    return re.compile("".join(f"(?:{_character(each)})" for each in secret), re.IGNORECASE)


def _character(each: str) -> str:
    code = ord(each)
    units = each.encode("utf-16-be", "surrogatepass")
    ways = [
        f"(?-i:{re.escape(each)})",
        "".join(rf"\\+u{units[n : n + 2].hex()}" for n in range(0, len(units), 2)),
        "".join(f"%{unit:02x}" for unit in each.encode("utf-8", _OUTSIDE)),
        f"&#(?:x0*{code:x}|0*{code});",
    ]
    if code < 256:
        ways.append(rf"\\+x{code:02x}")
    if not each.isalnum():
        ways.append(rf"\\+{re.escape(each)}")
    return "|".join(ways)
