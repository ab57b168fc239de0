"""The drills of the connectors, one module for each. `DRILLS` of every module here is found by itself."""

from importlib import import_module
from pkgutil import iter_modules

from counterfoil.connectors.drilling import Drill
from counterfoil.model.errors import Refused


def modules() -> list[str]:
    """The connectors that have drills, in order."""
    return sorted(each.name for each in iter_modules(__path__))


def drills(connector: str | None = None) -> list[Drill]:
    """Of all, of a file (`stripe`), or of one operation (`stripe.refund`). Raises Refused(not_found)."""
    file = None if connector is None else connector.partition(".")[0]
    known = modules()
    named = [name for name in known if file in (None, name)]
    found: list[Drill] = [drill for name in named for drill in import_module(f"{__name__}.{name}").DRILLS]
    chosen = [drill for drill in found if connector in (None, file, drill.connector)]
    if not chosen:
        raise Refused("not_found", what="connector", id=connector)
    return chosen
