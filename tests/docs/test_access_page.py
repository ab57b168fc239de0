"""The page about access names what the code has: every act, every kind of record, and what the built-in roles may."""

from counterfoil.app.access.sessions import IDLE, LIFETIME
from counterfoil.app.access.tokens import LONGEST
from counterfoil.model.access import Act, RecordKind
from tests.docs.pages import code_in, pages, section, tables

PAGE = "docs/access.md"


def names(part: str) -> list[str]:
    return [code_in(row[0])[0] for row in tables(section(PAGE, part))[0][1:]]


def test_every_act_and_every_kind_is_named() -> None:
    assert names("Acts") == [act.value for act in Act]
    assert names("Kinds of records") == [kind.value for kind in RecordKind]


def test_the_times_on_the_page_are_those_in_force() -> None:
    page = " ".join(pages()[PAGE].split())
    assert f"after {LIFETIME.total_seconds() / 3600:.0f} hours, after one hour without a request" in page
    assert IDLE.total_seconds() == 3600
    assert f"at most {LONGEST.days} days" in page
