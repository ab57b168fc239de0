"""What the code has is in the documents, and what the documents name is in the code."""

import re
import shlex
from dataclasses import fields
from typing import Any

import pytest

import counterfoil
from counterfoil import settings
from counterfoil.cli.tree import command
from counterfoil.engine.boundaries import BOUNDARIES
from counterfoil.model.contract import (
    Contract,
    IdempotencyKey,
    Lookup,
    Meaning,
    Provenance,
    Reference,
    Version,
    Webhook,
    When,
)
from counterfoil.model.error_codes import CODES
from counterfoil.model.metrics import METRICS
from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import ParkReason, RunState
from tests.architecture.test_words import banned_in_prose
from tests.docs.pages import blocks, code_in, pages, prose, section, tables

PARTS = (Contract, IdempotencyKey, Lookup, When, Reference, Version, Webhook, Provenance)


def first_cells(text: str) -> list[str]:
    """The name in backticks that begins each row below the heading of each table."""
    return [code_in(row[0])[0] for table in tables(text) for row in table[1:] if code_in(row[0])]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_field_of_a_contract_is_described(part: Any) -> None:
    declared = [each.name for each in fields(part) if each.name != "_"]
    rows = tables(section("docs/contracts.md", part.__name__))[0][1:]
    described = [code_in(row[0])[0] for row in rows]
    assert sorted(described) == sorted(declared)
    assert all(len(cell) > 0 for row in rows for cell in row)


def test_required_fields_of_a_contract_are_called_required() -> None:
    for part in PARTS:
        for row in tables(section("docs/contracts.md", part.__name__))[0][1:]:
            field = next(each for each in fields(part) if each.name == code_in(row[0])[0])
            required = "MISSING" in repr(field.default) and "MISSING" in repr(field.default_factory)
            assert row[-1].startswith("required") == required, f"{part.__name__}.{field.name}"


def test_every_meaning_of_an_answer_is_described() -> None:
    table = tables(section("docs/contracts.md", "When"))[1]
    assert [code_in(row[0])[0] for row in table[1:]] == [meaning.value for meaning in Meaning]


def test_states_reasons_settings_boundaries_and_codes_are_described() -> None:
    states = first_cells(pages()["docs/states.md"])
    assert states == [each.value for kind in (RunState, OperationStatus, ReviewState, ParkReason) for each in kind]
    known = [each.name for each in settings.in_force()]
    assert first_cells(pages()["docs/settings.md"]) == known
    assert first_cells(pages()["docs/boundaries.md"]) == [each.name for each in BOUNDARIES]
    assert first_cells(pages()["docs/reference/errors.md"]) == list(CODES)


def test_every_metric_is_defined_and_says_what_it_does_not_count() -> None:
    """The page, the help texts and `metrics --json` say the same: the two others come from this very list."""
    told = tables(section("docs/metrics.md", "Every metric"))[0][1:]
    assert [code_in(row[0])[0] for row in told] == [each.full_name for each in METRICS]
    assert [tuple(row[4:]) for row in told] == [(each.definition, each.does_not_count) for each in METRICS]
    assert all(each.definition.endswith(".") and each.does_not_count.endswith(".") for each in METRICS)


def test_settings_that_are_named_are_known() -> None:
    known = {each.name for each in settings.in_force()}
    named = {name for page in pages().values() for name in re.findall(r"\bCOUNTERFOIL_[A-Z_]+\b", page)}
    assert known <= named
    assert named <= known


def test_park_reasons_and_codes_that_are_named_are_known() -> None:
    """A word with an underscore in backticks is a name of ours, whatever the sentence says."""
    reasons = {reason.value for reason in ParkReason}
    for page in ("README.md", "docs/tutorial.md", "docs/limits.md", "SECURITY.md", "docs/states.md"):
        for name in code_in(prose(page)):
            if re.fullmatch(r"[a-z]+(_[a-z]+)+", name) and "." not in name:
                assert name in reasons | set(CODES) | {each.value for each in OperationStatus} | CHECKS, (
                    f"{page}: {name}"
                )


CHECKS = {"restore_undetectable"}  # codes of `doctor`


def typed() -> list[tuple[str, str]]:
    """(page, command line) of everything that begins with `counterfoil` in blocks and in backticks."""
    found: list[tuple[str, str]] = []
    for page in pages():
        if page == "docs/reference/cli.md":
            continue
        lines = [line for block in blocks(page) if block.language in ("sh", "") for line in block.text.splitlines()]
        lines += code_in(prose(page))
        found += [(page, match[1]) for line in lines if (match := re.match(r"(?:[A-Z_]+=\S+ )?(counterfoil .+)", line))]
    return found


def test_commands_that_are_named_are_there() -> None:
    wrong: list[str] = []
    for page, line in typed():
        problem = unknown_in(shlex.split(line, comments=True)[1:])
        if problem:
            wrong.append(f"{page}: {line}: {problem}")
    assert not wrong
    assert len(typed()) > 40


def unknown_in(words: list[str]) -> str | None:
    """What is wrong with a command line: a command or an option that does not exist."""
    at: Any = command()
    while words and hasattr(at, "commands"):
        if words[0].startswith("--"):
            break
        if words[0] not in at.commands:
            return f"no command {words[0]}"
        at, words = at.commands[words[0]], words[1:]
    known = {option for parameter in at.params for option in parameter.opts} | {"--json", "--db", "--app", "--help"}
    return next(
        (f"no option {word}" for word in words if word.startswith("--") and word.split("=")[0] not in known), None
    )


def test_an_unknown_command_is_found() -> None:
    assert unknown_in(["runs", "forget"]) == "no command forget"
    assert unknown_in(["verify", "--deep"]) == "no option --deep"
    assert unknown_in(["verify", "--run", "run-1"]) is None


def test_every_command_is_in_the_reference() -> None:
    heads = re.findall(r"^### `counterfoil((?: [a-z]+(?:-[a-z]+)*)+)", pages()["docs/reference/cli.md"], re.MULTILINE)
    words = {" ".join(head.split()) for head in heads}
    assert words == set(leaves(command(), ""))


def leaves(at: Any, name: str) -> list[str]:
    if not hasattr(at, "commands"):
        return [name.strip()]
    return [leaf for word, each in at.commands.items() for leaf in leaves(each, f"{name} {word}")]


def test_imports_from_the_package_are_public_names() -> None:
    """What an example imports from `counterfoil` itself is promised to stay."""
    code = "\n".join(block.text for page in pages() for block in blocks(page) if block.language == "python")
    named = {name.strip() for names in re.findall(r"from counterfoil import (.+)", code) for name in names.split(",")}
    assert len(named) > 10
    assert named <= set(counterfoil.__all__)


def test_the_eight_words_mean_the_same_everywhere() -> None:
    eight = {row[0]: row[1] for row in tables(section("README.md", "Eight words"))[0][1:]}
    words = {row[0]: row[1] for row in tables(pages()["docs/words.md"])[0][1:]}
    assert list(eight) == ["run", "step", "decision", "operation", "attempt", "receipt", "review", "receiver"]
    assert set(eight) <= set(words)


@pytest.mark.parametrize("page", pages())
def test_no_banned_word_explains_a_thing_of_ours(page: str) -> None:
    said = re.sub(r"\]\([^)]*\)", "]", prose(page))  # where a link leads is a name
    assert list(banned_in_prose(said)) == []


def test_agents_is_short() -> None:
    assert len(pages()["AGENTS.md"].splitlines()) <= 120
