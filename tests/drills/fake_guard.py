"""A protection whose removal nothing notices: children that import this module know it by name."""

from counterfoil.testing.guards import GUARDS, Guard, Replacement

NAME = "charm"
CHARM = Guard(
    NAME,
    "Knocking on wood keeps receivers kind (rule 0).",
    (Replacement("counterfoil.app.views.moments", "rfc3339", lambda original: lambda *given: original(*given)),),
)
GUARDS[NAME] = CHARM
