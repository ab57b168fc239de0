"""`counterfoil rules recovery`: the table that decides what happens to an operation in doubt."""

from typing import TYPE_CHECKING, Any

from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import sentence, table

if TYPE_CHECKING:
    from rich.console import Console

rules = group("rules", "What decides.")


def recovery_table(console: "Console", data: Any) -> None:
    """Letter, words, ruling, sentence."""
    rows = [(c["letter"], c["words"], c["ruling"], c["matched"], c["sentence"]) for c in data["cases"]]
    table(console, ("case", "facts in words", "ruling", "matched", "sentence"), rows, empty="")
    sentence(console, f"{data['combinations']} combinations of {len(data['facts'])} facts; each has exactly one case")


@rules.command(
    "recovery",
    data="{facts:{name:[values]}, combinations, cases:[{letter, sentence, ruling, matched, words}]}",
    shows=recovery_table,
)
def recovery(invocation: Invocation) -> Any:
    """Print the recovery table, with how many combinations of facts each case rules."""
    from counterfoil.rules.recovery import CASES, combinations, count_matches, fact_values

    del invocation
    matched = count_matches()
    cases = [
        {"letter": c.letter, "sentence": c.sentence, "ruling": c.ruling, "matched": matched[c.letter], "words": c.words}
        for c in CASES
    ]
    return {"facts": fact_values(), "combinations": combinations(), "cases": cases}
