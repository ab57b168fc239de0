"""The reference pages say what the code says, and answers have the fields that the pages name."""

import re
from pathlib import Path

from counterfoil.cli.command import DECLARED
from counterfoil.cli.reference import errors_page, with_section
from counterfoil.cli.schema import commands_of
from counterfoil.cli.shapes import PARKED, SHAPES
from counterfoil.cli.tree import command
from counterfoil.model.error_codes import CODES
from counterfoil.model.run import ParkReason
from tests.edges.cli_bench import Cli
from tests.edges.cli_shapes import missing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
ANEW = "write the pages anew: python -m counterfoil.cli.reference docs/reference"
NEVER_A_COMMAND: set[str] = set()


def test_the_pages_are_what_the_code_says() -> None:
    page = (REFERENCE / "cli.md").read_text()
    assert with_section(page) == page, ANEW
    assert errors_page() == (REFERENCE / "errors.md").read_text(), ANEW


def test_schema_and_page_name_the_same(tmp_path: Path) -> None:
    """Read from the page itself, not with what wrote it."""
    page = (REFERENCE / "cli.md").read_text()
    schema = Cli(tmp_path).json("schema").data
    parts = page.split("\n### ")[1:]
    headed = re.compile(r"`counterfoil((?: [a-z]+(?:-[a-z]+)*)+)")
    found = {match[1].strip(): part for part in parts if (match := headed.match(part))}
    assert sorted(found) == sorted(each["command"] for each in schema["commands"])
    for each in schema["commands"]:
        part = found[each["command"]].split("\n## ")[0]
        assert f"Data: `{each['data']}`" in part
        options = set(re.findall(r"^- `(--[a-z-]+)", part, re.MULTILINE))
        assert options == {option["option"] for option in each["options"]}, each["command"]
    for name, fields in schema["shapes"].items():
        assert f"\n{name}  {fields}\n" in page
    for reason, moves in schema["parked"].items():
        assert f"| `{reason}` | `{moves}` |" in page


def test_every_command_is_declared_and_every_line_has_one_sentence() -> None:
    words = {name for name, _ in commands_of(command())}
    assert words == set(DECLARED)
    assert not set(words) & NEVER_A_COMMAND, "not built yet: absent, not a stub"
    assert all(each.about and each.about.endswith(".") for each in DECLARED.values())


def test_every_park_reason_leads_to_a_command() -> None:
    assert set(PARKED) == {reason.value for reason in ParkReason}
    words = {name for name, _ in commands_of(command())}
    for leads_to in PARKED.values():
        assert any(leads_to.startswith(each) for each in words), leads_to


def test_every_shape_is_used() -> None:
    said = " ".join([*SHAPES.values(), *(each.data for each in DECLARED.values())])
    assert [name for name in SHAPES if not re.search(rf"\b{name}\b", said)] == []


def test_answers_without_a_database_have_their_fields(tmp_path: Path) -> None:
    cli = Cli(tmp_path, {"COUNTERFOIL_STATE": str(tmp_path / "state")})
    for words in ("schema", "errors", "boundaries", "settings", "rules recovery", "doctor"):
        ended = cli.json(*words.split())
        assert ended.document["schema"] == f"{words}/1"
        assert missing(DECLARED[words].data, ended.data) == []
        assert cli(*words.split()).out


def test_the_shape_reader_finds_what_is_missing() -> None:
    assert missing("{a, b:[{c: x|y}], d:NEXT}", {"a": 1, "b": [{}], "d": {"code": 1}}) == [
        "data.b[0].c", "data.d.sentence", "data.d.who", "data.d.command", "data.d.deadline_at",
    ]  # fmt: skip
    assert missing("{items:[PERSON], next_cursor}", {"items": {}}) == ["data.items is no list", "data.next_cursor"]
    assert "data.records" not in missing("RUN without records", {})
    assert "data.number" in missing("REVIEW without payload and sources", {})


def test_the_error_list_is_the_code_table(tmp_path: Path) -> None:
    items = Cli(tmp_path).json("errors").data["items"]
    assert [each["code"] for each in items] == list(CODES)


def test_the_recovery_table_counts_every_combination(tmp_path: Path) -> None:
    data = Cli(tmp_path).json("rules", "recovery").data
    assert sum(case["matched"] for case in data["cases"]) == data["combinations"]
    assert all(case["matched"] >= 1 for case in data["cases"])
