"""One ensemble for the workflows of the core: its fork servers and receivers serve every test of a module."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from counterfoil.drills.derived import completed
from counterfoil.drills.learning import Learned
from counterfoil.drills.running import Ensemble
from counterfoil.drills.scenario import Scenario
from counterfoil.drills.target import Target

Played = tuple[Ensemble, dict[str, Learned]]
LETTER = {"number": "n-1", "cents": 5}


@pytest.fixture(scope="module")
def core() -> Iterator[Played]:
    """Two players for three workflows, and what a clean run of each showed."""
    from tests.drills.core_workflows import app

    told = completed(app, Scenario(workflow="remind", input=LETTER, signals={"word": {"word": "n-7"}}))
    first, careless = (Target.of(app, name, text=f"core:{name}") for name in ("write", "careless"))
    target = replace(first, scenarios=(*first.scenarios, *careless.scenarios, told))
    with Ensemble(target) as ensemble:
        yield ensemble, {learned.workflow: learned for learned in ensemble.learn()}
