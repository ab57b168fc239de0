"""Markup that cannot be broken by what it shows: every text is escaped, unless it is markup already."""

import html
import unicodedata
from collections.abc import Iterable
from typing import Any

VOID = {"meta", "input", "wbr"}
STEERING = {"Cc", "Cf", "Cs", "Co"}  # control, direction, half and private characters


class Markup(str):
    """A text that is markup. Made only here."""

    __slots__ = ()


def legible(value: Any) -> str:
    """A text in which control, direction and half characters are shown as escapes; None is a dash.

    What a payload holds can neither steer a terminal nor turn a line around, and what is left may stand in XML.
    """
    text = "-" if value is None else "yes" if value is True else "no" if value is False else str(value)
    return "".join(each if _harmless(each) else each.encode("unicode_escape").decode() for each in text)


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """`<tag name="value">children</tag>`. An attribute that is None or False is left out; `class_` is `class`."""
    head = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{head}>")
    return Markup(f"<{tag}{head}>{joined(children)}</{tag}>")


def joined(children: Iterable[Any], between: str = "") -> Markup:
    """Children one after the other; None is left out."""
    return Markup(between.join(_escaped(child) for child in children if child is not None))


def _escaped(child: Any) -> str:
    return child if isinstance(child, Markup) else html.escape(legible(child))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(legible(value))}"'


def _harmless(character: str) -> bool:
    if character in "\n\t":
        return True
    return unicodedata.category(character) not in STEERING and ord(character) & 0xFFFE != 0xFFFE
