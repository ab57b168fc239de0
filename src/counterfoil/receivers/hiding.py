"""A credential that comes back is not kept: a receiver may echo it, and a transport may quote it in its complaint."""

from collections.abc import Mapping

HIDDEN = "[credential]"
_SHORTEST = 6  # what is shorter is no secret, and would be found in every text


def secrets_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be kept of these headers: their values, and what follows a scheme's name. The longest first."""
    whole = set(headers.values())
    parts = {value.partition(" ")[2].strip() for value in whole}
    return tuple(sorted((each for each in whole | parts if len(each) >= _SHORTEST), key=len, reverse=True))


def hidden(text: str, secrets: tuple[str, ...]) -> str:
    """The text without them, also as a Python literal quotes them."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN).replace(repr(secret)[1:-1], HIDDEN)
    return text


def hidden_bytes(body: bytes, secrets: tuple[str, ...]) -> bytes:
    """The same of a body. Other bytes stay as they are."""
    for secret in secrets:
        body = body.replace(secret.encode(), HIDDEN.encode())
    return body
