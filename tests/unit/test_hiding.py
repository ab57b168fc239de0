"""A credential that comes back is recognised however it is written."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from counterfoil.receivers.hiding import HIDDEN, hidden, hidden_bytes, secrets_of

SECRET = 'sk/live+"4f1d"\\9ö=c07'
TOKEN = "sk_live_4f1d9c07aa31"
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda each: each,
    "python": repr,
    "json": json.dumps,
    "json that keeps letters": lambda each: json.dumps(each, ensure_ascii=False),
    "json with escaped slashes": lambda each: json.dumps(each).replace("/", "\\/"),
    "json in json": lambda each: json.dumps(json.dumps(each)),
    "every character as a number": lambda each: "".join(f"\\u{ord(one):04X}" for one in each),
    "percent": lambda each: quote(each, safe=""),
    "percent, in small letters": lambda each: quote(each, safe="").lower() if each.islower() else quote(each),
    "html": lambda each: "".join(f"&#{ord(one)};" if not one.isalnum() else one for one in each),
    "base64": lambda each: base64.b64encode(each.encode()).decode(),
    "base64 behind a name": lambda each: base64.b64encode(f"robot:{each}".encode()).decode(),
    "base64 behind another name": lambda each: base64.b64encode(f"robots:{each} and more".encode()).decode(),
    "base64 for addresses": lambda each: base64.urlsafe_b64encode(b"1:" + each.encode()).decode(),
    "base64 in json": lambda each: json.dumps(base64.b64encode(each.encode()).decode()).replace("/", "\\/"),
    "base64 in an address": lambda each: quote(base64.b64encode(f"x{each}".encode()).decode(), safe=""),
}


@pytest.mark.parametrize("secret", [SECRET, TOKEN])
@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_hidden_however_it_is_written(way: str, secret: str) -> None:
    secrets = secrets_of({"Authorization": f"Bearer {secret}"})
    written = WAYS[way](secret)
    shown = hidden(f"it says {written}, and so on", secrets)
    assert HIDDEN in shown and shown.startswith("it says ") and shown.endswith(", and so on")
    assert len(shown) <= len("it says , and so on") + len(HIDDEN) + 24, "little of it is left"
    assert hidden_bytes(b"\xff\x00" + written.encode() + b"\xfe", secrets).startswith(b"\xff\x00")
    assert written.encode() not in hidden_bytes(b"\xff" + written.encode(), secrets)


def test_what_is_not_the_secret_stays() -> None:
    secrets = secrets_of({"Authorization": f"Bearer {SECRET}"}, ("short",))
    for body in (b'{"a": "\\u00e9 50%25 &#38; x"}', bytes(range(256)), b"Bearer of news", b""):
        assert hidden_bytes(body, secrets) == body


def test_the_header_of_a_login_and_its_password_are_hidden() -> None:
    coded = base64.b64encode(f"robot:{TOKEN}".encode()).decode()
    secrets = secrets_of({"Authorization": f"Basic {coded}"}, (TOKEN,))
    for told in (f"Basic {coded}", coded, TOKEN, quote(coded, safe="")):
        assert hidden(f"<{told}>", secrets) == f"<{HIDDEN}>"
