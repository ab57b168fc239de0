"""`counterfoil explore`: every interleaving on one operation, over the real rules. A counterexample is a story."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import heading, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
EXPLORED = (
    "{source_digest, without, bounds:{depth, workers, people, crashes, freezes, instants, words, mishaps, rare}, "
    "kinds:[{kind, states, transitions, depth, complete, boundaries_crashed, cases_hit, "
    "residue:[{residue, sentence, invariant, states, story:[{actor, boundary, case, text}]}], "
    "violations:[{invariant, sentence, receiver_records:[{identity, content}], story:[{actor, boundary, case, text}]}]}]}"
)


def explored(console: "Console", data: Any) -> None:
    """A line for each kind, the residue by name, and each violation as numbered lines."""
    rows = [
        (
            k["kind"], k["states"], k["transitions"], f"{k['depth']}{', all' if k['complete'] else ''}",
            len(k["boundaries_crashed"]), " ".join(k["cases_hit"]), sum(r["states"] for r in k["residue"]),
            len(k["violations"]),
        )
        for k in data["kinds"]
    ]  # fmt: skip
    columns = ("kind", "states", "transitions", "depth", "crashed at", "cases", "residue", "violations")
    table(console, columns, rows, empty="")
    for kind in data["kinds"]:
        for violation in kind["violations"]:
            records = violation["receiver_records"]
            heading(console, f"kind {kind['kind']}: {violation['invariant']}, {len(records)} records at the receiver")
            sentence(console, violation["sentence"])
            told(console, violation["story"])


def told(console: "Console", story: Any) -> None:
    """One line for each step: who, what, under which case, after which boundary."""
    for place, step in enumerate(story, 1):
        case = f" (case {step['case']})" if step["case"] else ""
        sentence(console, f"{place:3}. {step['actor']}: {step['text']}{case}")


def add_to(top: Group) -> None:
    """Add the command."""

    @top.command("explore", data=EXPLORED, shows=explored, also=(FOUND,))
    def explore(
        invocation: Invocation,
        kind: Annotated[
            str, typer.Option(metavar="K", help="A kind of receiver: key, lookup, none, A to J; or all.")
        ] = "all",
        depth: Annotated[
            int, typer.Option(min=1, max=60, help="Cost of a story: a step is 1, a word 3, a crash 4.")
        ] = 8,
        workers: Annotated[int, typer.Option(min=1, max=2, help="Worker processes.")] = 2,
        people: Annotated[
            int, typer.Option(min=0, max=1, help="0: nobody answers but to approve what is asked first.")
        ] = 1,
        crashes: Annotated[
            int, typer.Option(min=0, max=4, help="Crashes, frozen workers and mishaps in one story at most.")
        ] = 1,
        without: Annotated[
            str | None,
            typer.Option(metavar="GUARD", help="Take a protection of `guards` away, and see what it held up."),
        ] = None,
    ) -> Any:
        """Explore every interleaving of two workers and a person on one operation. Exit 1 on a violation."""
        from counterfoil.testing.explore import Bounds
        from counterfoil.testing.explore import explore as search

        del invocation
        bounds = Bounds(depth=depth, workers=workers, people=people, crashes=crashes, rare=crashes)
        data = search(() if kind == "all" else (kind,), bounds, without=without)
        return Answer(data, FOUND if any(k["violations"] for k in data["kinds"]) else 0)
