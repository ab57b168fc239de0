"""The desk of one signed-in person: the nouns, filtered to what the person may read, and acting in the person's name."""

from typing import TYPE_CHECKING, Any

from counterfoil.app.access.actor import Actor
from counterfoil.app.desk.evidence import DeskEvidence
from counterfoil.app.desk.installation import DeskIncidents, DeskPeople, DeskReceivers, DeskWorkers, DeskWrites
from counterfoil.app.desk.operations import DeskOperations
from counterfoil.app.desk.reviews import DeskReviews
from counterfoil.app.desk.runs import DeskRuns
from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.signals import DeskSignals

if TYPE_CHECKING:
    from counterfoil.app.application import App


class Desk:
    """`app.desk(actor)`. Whatever the person may not see is not_found; whatever the person may not do is not_permitted."""

    def __init__(self, app: "App", actor: Actor) -> None:
        self.actor = actor
        sight = self.sight = Sight(app, actor)
        self.runs = DeskRuns(sight)
        self.operations = DeskOperations(sight)
        self.reviews = DeskReviews(sight)
        self.signals = DeskSignals(sight)
        self.incidents = DeskIncidents(sight)
        self.writes = DeskWrites(sight)
        self.workers = DeskWorkers(sight)
        self.receivers = DeskReceivers(sight)
        self.people = DeskPeople(sight)
        self.evidence = DeskEvidence(sight)

    def find(self, text: str, *, limit: int = 20) -> dict[str, Any]:
        """As `app.find`, without what the person may not see."""
        return self.sight.app.find(text, limit=limit)

    def me(self) -> dict[str, Any]:
        """`{name, how, roles}`: who is signed in, and how that was shown."""
        person = next(p for p in self.sight.app.people.list()["items"] if p["name"] == self.actor.person)
        return {"name": person["name"], "how": self.actor.how, "roles": person["roles"]}
