"""What the model server reads in a prompt: labelled values, by simple rules that a test can rely on."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from counterfoil.testing.loopback.digest import as_object, parse_json

_LINE = re.compile(
    r"""^[\s>*|#-]*["']?(?P<label>[A-Za-z][\w .-]{0,40}?)["']?\s*\**\s*[:=,;|\t]\s*\**\s*(?P<value>\S.*)$"""
)
_AMOUNT = re.compile(r"\bamount\D{0,20}(\d[\d.,]*)", re.IGNORECASE)
_ELEMENT = re.compile(r"<([A-Za-z]\w*)>([^<>\n]*)</\1>")
_TAG = re.compile(r"</?[A-Za-z]\w*>")
_ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "company": ("company_name", "legal_name", "registered_name", "organisation", "organization"),
    "customer": ("customer_id", "customer_name", "client", "account"),
    "amount": ("total", "price"),
}
_LONGEST_VALUE = 200


class Prompt:
    """The words of one request. Values are found once; the first line with a label wins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._labelled: dict[str, str] = {}
        for line in _lines(text):
            found = _LINE.match(line)
            if found is not None:
                label = re.sub(r"[\s.-]+", "_", found["label"].strip()).lower()
                value = found["value"].strip().strip("\"'|*,").strip()[:_LONGEST_VALUE]
                self._labelled.setdefault(label, value)

    def value_of(self, field: str) -> str | None:
        """The value on a line like `Company: X`, `company = X` or `company,X` for a field's name."""
        names = (field.lower(), *_ALSO_CALLED.get(field.lower(), ()))
        return next((self._labelled[name] for name in names if self._labelled.get(name)), None)

    def number_of(self, field: str) -> float | None:
        """The number labelled with a field's name; for an amount also one that follows the word in a sentence."""
        said = self.value_of(field) or ""
        found = re.search(r"-?\d[\d.,]*", said)
        if found is not None:
            return _number(found[0])
        sentence = _AMOUNT.search(self.text) if field.lower() == "amount" else None
        return None if sentence is None else _number(sentence[1])


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip(".,").replace(",", ""))
    except ValueError:
        return None


def _lines(text: str) -> Iterator[str]:
    """The text as lines, whether it is plain, JSON, has JSON in it, or is marked up with tags."""
    whole = _json_in(text.strip())
    if whole is not None:
        yield from _labels(whole)
        return
    plain = _TAG.sub("\n", _ELEMENT.sub(r"\n\1: \2\n", text.replace("\\n", "\n")))
    for line in plain.splitlines():
        value = _json_in(line.strip())
        yield from [line] if value is None else _labels(value)


def _json_in(text: str) -> object:
    try:
        return parse_json(text) if text[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        return None


def _labels(value: object) -> Iterator[str]:
    """A JSON value as labelled lines: a document inside a JSON string is read like any other document."""
    for name, item in as_object(value).items():
        if isinstance(item, str):
            yield from [f"{name}: {item}"] if "\n" not in item else item.splitlines()
        elif isinstance(item, int | float):
            yield f"{name}: {item}"
        else:
            yield from _labels(item)
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _labels(item)
