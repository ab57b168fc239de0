"""The figures as tables for people, in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any


def written(data: dict[str, Any]) -> str:
    """Ratios first, then the absolute figures with the machine that they are from."""
    if "rows" not in data:
        return "\n".join(table(["per step", "count"], [[name, _shown(value)] for name, value in data.items()]))
    machine, observer = data["machine"], data["observer"]
    ratios = [[r["name"], _shown(r["value"]), _shown(r["target"]), "yes" if r["met"] else "no"] for r in data["ratios"]]
    costs = ("commits_per_step", "flushes_per_step", "statements_per_step", "bytes_per_step")
    rows = [
        [r["suite"], r["system"], r["concurrency"], r["metric"], r["unit"], *(_shown(r[k]) for k in ("median", "min", "max", *costs))]
        for r in data["rows"]
    ]  # fmt: skip
    return "\n".join(
        [
            *table(["ratio", "value", "target", "met"], ratios),
            "",
            *table(
                ["suite", "system", "runs", "metric", "unit", "median", "min", "max"]
                + [name.replace("_per_", "/") for name in costs],
                rows,
            ),
            "",
            f"Observer: {observer['acknowledged']} steps acknowledged before SIGKILL, {observer['stored']} stored.",
            "",
            f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 1e9:.0f} GB, "
            f"{machine['system']}, Python {machine['python']}; one flush {machine['flush_us']} us; "
            f"load {machine['load_1m']} when it began.",
            *(f"Not run: {each['system']}: {each['error']}" for each in data["not_run"]),
        ]
    )


BEGIN, END = "<!-- measured: python -m benchmarks --into FILE writes what follows -->", "<!-- end of measured -->"


def into(page: str, tables: str) -> str:
    """The page with these tables between its two marks. Raises ValueError without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """One table, line by line."""
    return [f"| {' | '.join(map(str, line))} |" for line in (head, ["---"] * len(head), *rows)]
