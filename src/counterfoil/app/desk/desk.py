"""The desk of one signed-in person: the nouns, filtered to what the person may read, and acting in the person's name."""

from typing import TYPE_CHECKING, Any

from counterfoil.app.access.actor import Actor
from counterfoil.app.desk import finding
from counterfoil.app.desk.access import DeskAccess
from counterfoil.app.desk.audit import DeskAudit
from counterfoil.app.desk.budgets import DeskBudgets
from counterfoil.app.desk.conversations import DeskConversations
from counterfoil.app.desk.decisions import DeskDecisions
from counterfoil.app.desk.documents import DeskDocuments
from counterfoil.app.desk.evidence import DeskEvidence
from counterfoil.app.desk.inbox import DeskInbox
from counterfoil.app.desk.incidents import DeskIncidents
from counterfoil.app.desk.installation import (
    DeskDrills,
    DeskDuties,
    DeskPeople,
    DeskReceivers,
    DeskRestore,
    DeskWorkers,
    DeskWrites,
)
from counterfoil.app.desk.metrics import DeskMetrics
from counterfoil.app.desk.money import DeskMoney
from counterfoil.app.desk.operations import DeskOperations
from counterfoil.app.desk.receipts import DeskReceipts
from counterfoil.app.desk.reviews import DeskReviews
from counterfoil.app.desk.runs import DeskRuns
from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.signals import DeskSignals
from counterfoil.app.desk.turns import DeskTurns
from counterfoil.model.access import Act
from counterfoil.model.codec import parsed
from counterfoil.rules.wishes import about_installation

if TYPE_CHECKING:
    from counterfoil.app.application import App

OF_THE_INSTALLATION = (
    Act.SUSPEND_WRITES, Act.RESUME_WRITES, Act.FINISH_RESTORE, Act.IMPORT_STATEMENT, Act.EXPORT_AUDIT, Act.ADMINISTER
)  # fmt: skip


class Desk:
    """`app.desk(actor)`. Whatever the person may not see is not_found; whatever the person may not do is not_permitted."""

    def __init__(self, app: "App", actor: Actor) -> None:
        self.actor = actor
        sight = self.sight = Sight(app, actor)
        self.runs = DeskRuns(sight)
        self.operations = DeskOperations(sight)
        self.reviews = DeskReviews(sight)
        self.signals = DeskSignals(sight)
        self.conversations = DeskConversations(sight)
        self.budgets = DeskBudgets(sight)
        self.documents = DeskDocuments(sight)
        self.incidents = DeskIncidents(sight)
        self.receipts = DeskReceipts(sight)
        self.inbox = DeskInbox(sight)
        self.audit = DeskAudit(sight)
        self.writes = DeskWrites(sight)
        self.drills = DeskDrills(sight)
        self.restore = DeskRestore(sight)
        self.workers = DeskWorkers(sight)
        self.duties = DeskDuties(sight)
        self.receivers = DeskReceivers(sight)
        self.people = DeskPeople(sight)
        self.metrics = DeskMetrics(sight)
        self.money = DeskMoney(sight)
        self.decisions = DeskDecisions(sight)
        self.turns = DeskTurns(sight)
        self.access = DeskAccess(sight)
        self.evidence = DeskEvidence(sight)

    def find(self, text: str, *, limit: int = 20) -> dict[str, Any]:
        """As `app.find`, without what the person may not see."""
        return finding.find(self.sight, text, limit)

    def me(self) -> dict[str, Any]:
        """`{name, how, roles, stand_in_for, workflows, acts}`: who is signed in, and what for.

        `workflows`: those whose runs are seen, None for all. `acts`: what may be done to the installation as a whole.
        """
        with self.sight.look() as look:
            workflows = look.filter_workflows
            return {
                "name": look.person.name, "how": self.actor.how, "roles": parsed(look.person.roles),
                "stand_in_for": look.person.stand_in_for, "workflows": None if workflows is None else list(workflows),
                "acts": [act.value for act in OF_THE_INSTALLATION if look.may(about_installation(act))],
            }  # fmt: skip
