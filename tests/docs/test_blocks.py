"""Every fenced block of the documents runs, or is in one list with a reason."""

import re
from collections import Counter
from pathlib import Path

import pytest

from counterfoil.model.metrics import METRICS, MetricKind
from tests.docs.pages import ROOT, Block, blocks, pages
from tests.docs.test_tours import IN_THE_REPOSITORY, TOURS, walked

# name of the block -> why it is not carried out here. Never add one.
NOT_RUN = {
    "CONTRIBUTING.md: .venv/bin/python scripts/run_suites.py unit docs": "this very suite is one of those",
    "CONTRIBUTING.md: .venv/bin/python -m tests.docs.written": "tests/docs/test_written.py holds the pages against it",
}
AT_MOST = 2

# Languages of blocks that are pictures.
PICTURES = {"", "mermaid"}
PARTS_OF = {MetricKind.GAUGE: (), MetricKind.COUNTER: (), MetricKind.HISTOGRAM: ("_bucket", "_sum", "_count")}
# The pages that `counterfoil.cli.reference` writes, and that its own tests hold against the code.
ELSEWHERE = {"docs/reference/cli.md", "docs/reference/errors.md"}


def every_block() -> list[Block]:
    return [block for page in pages() if page not in ELSEWHERE for block in blocks(page)]


def kind(block: Block) -> str:
    if block.language in PICTURES:
        return "picture"
    if block.name in NOT_RUN:
        return "not run"
    if block.page in TOURS and block in walked(block.page):
        return "tour"
    if block.language == "sh" and all(line.startswith(IN_THE_REPOSITORY) for line in block.text.strip().splitlines()):
        return "make"
    if block.language == "promql":
        return "query"
    return "python" if block.language == "python" else "unknown"


def of_kind(wanted: str) -> list[Block]:
    return [block for block in every_block() if kind(block) == wanted]


def test_every_block_is_accounted_for() -> None:
    unknown = [f"{block.place}: {block.language}" for block in of_kind("unknown")]
    assert not unknown, "carry it out, or name it in NOT_RUN"
    found = Counter(kind(block) for block in every_block())
    assert found["tour"] > 30 and found["python"] and found["make"]


def test_the_list_of_what_is_not_run_only_shrinks() -> None:
    assert len(NOT_RUN) <= AT_MOST
    assert set(NOT_RUN) == {block.name for block in of_kind("not run")}, "remove what is gone"
    assert all(NOT_RUN.values())


@pytest.mark.parametrize("block", of_kind("query"), ids=lambda block: block.place)
def test_a_query_names_series_and_labels_that_exist(block: Block) -> None:
    series = {f"{metric.full_name}{part}" for metric in METRICS for part in ("", *PARTS_OF[metric.kind])}
    labels = {label for metric in METRICS for label in metric.labels} | {"le"}
    text = re.sub(r"^#.*", "", block.text, flags=re.MULTILINE)
    assert (named := set(re.findall(r"counterfoil_\w+", text))) and named <= series
    grouped = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", text) for label in by.split(",")}
    assert grouped | set(re.findall(r"\{(\w+)=", text)) <= labels


@pytest.mark.parametrize("block", of_kind("python"), ids=lambda block: block.place)
def test_python_by_itself(block: Block) -> None:
    exec(compile(block.text, block.place, "exec"), {"__name__": "printed"})


def test_make_targets_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for block in of_kind("make") for line in block.text.strip().splitlines()]
    named = {line.split()[1] for line in lines if line.startswith("make ")}
    named |= {words.split()[1] for page in pages().values() for words in re.findall(r"`(make [a-z-]+)`", page)}
    assert named >= {"demo", "test", "check-fast"}
    assert named <= targets


def test_modules_and_scripts_that_are_named_are_there() -> None:
    text = "\n".join(pages().values())
    for module in set(re.findall(r"python -m ((?:tests|counterfoil|benchmarks)[\w.]*)", text)):
        where = Path(*module.split("."))
        roots = (ROOT, ROOT / "src")
        assert any(
            (root / where).with_suffix(".py").exists() or (root / where / "__main__.py").exists() for root in roots
        ), module
    for script in set(re.findall(r"(?:python|sh) ((?:scripts|tests)/[\w./]+)", text)):
        assert (ROOT / script).exists(), script
