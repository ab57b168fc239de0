"""One word per thing. The glossary is section 1 of the design; these are the words that it leaves to others."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import PACKAGE, ROOT, Source, committed, docstrings, report, shipped

BANNED = {
    "task": "step, attempt or run",
    "job": "run",
    "event": "entry (what a journal has) or signal (what wakes a run)",
    "ticket": "operation or review",
    "settle": "reconcile (by contract) or resolve (by a person)",
}
FORMS = {form: word for word in BANNED for form in (word, f"{word}s", f"{word}d", f"{word}ment")} | {
    "settling": "settle",
    "settlements": "settle",
}

# Names that other people's interfaces give us, should one of our classes implement them.
THEIR_NAMES = {"create_task", "task_group", "event_loop", "wait_event_type"}
# The same in prose. What stands in backticks is code, and is checked as code.
THEIR_PHRASES = re.compile(r"`[^`]*`|asyncio tasks?|event loops?|ticket systems?|server-sent events?", re.IGNORECASE)

BAD_FILE_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"}


def words(identifier: str) -> list[str]:
    """`runTask_id` is run, task, id."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)]


def banned_in(identifier: str) -> Iterator[str]:
    if identifier not in THEIR_NAMES:
        yield from (FORMS[word] for word in words(identifier) if word in FORMS)


def banned_in_prose(text: str) -> Iterator[str]:
    yield from (FORMS[word] for word in re.findall(r"[a-z]+", THEIR_PHRASES.sub(" ", text).lower()) if word in FORMS)


def names_given(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """The names that this file gives to something. Names that it merely uses are given elsewhere."""
    for node in source.nodes():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node, name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node, name
            case _:
                pass


def sayings(found: Iterator[tuple[str, str]]) -> list[str]:
    return sorted({f"{place}: {word} is banned, use {BANNED[word]}" for place, word in found})


def ours() -> list[Source]:
    """integrations/ speaks its hosts' languages."""
    return [source for source in shipped() if source.layer != "integrations"]


def test_no_banned_word_names_a_thing_of_ours() -> None:
    found = sayings(
        (f"{source.at(node)} {name}", word)
        for source in ours()
        for node, name in [*names_given(source), (source.tree, source.path.stem)]
        for word in banned_in(name)
    )
    assert not found, report("Names:", found)


def test_no_banned_word_explains_a_thing_of_ours() -> None:
    found = sayings(
        (source.at(node), word)
        for source in ours()
        for node, text in docstrings(source)
        for word in banned_in_prose(text)
    )
    assert not found, report("Docstrings:", found)


def test_no_banned_word_in_sql() -> None:
    found = sayings(
        (f"{path.relative_to(ROOT)}:{number}", word)
        for path in sorted(PACKAGE.rglob("*.sql"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for identifier in re.findall(r"\w+", re.sub(r"'[^']*'", "", line))
        for word in banned_in(identifier)
    )
    assert not found, report("Tables, columns and the comments beside them:", found)


def test_every_file_is_named_after_its_idea() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in committed()
        if BAD_FILE_NAMES & set(re.split(r"\W|_", path.stem.lower()))
    ]
    assert not found, report("A file with such a name collects anything. Name its idea.", found)


def test_the_words_test_can_fail() -> None:
    tree = ast.parse(
        "def run_jobs(event, *, TaskId):\n    self.settled = threading.Event()\n    ok = asyncio.create_task()\n"
    )
    given = [name for _, name in names_given(Source(ROOT / "x.py", "", tree))]
    assert [word for name in given for word in banned_in(name)] == ["job", "event", "task", "settle"]
    assert list(banned_in_prose("An asyncio task, `a job`, and two tickets.")) == ["ticket"]
