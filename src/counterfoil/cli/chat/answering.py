"""A review that is answered in place: by whom, and whether that person may. The verb asks all of it again."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterfoil.app.forbidden import Standpoint
from counterfoil.cli.prompts import secret_at_hand
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.app.access.actor import Actor
    from counterfoil.cli.invocation import Invocation

Ask = Callable[[str, bool], Awaitable[str]]
"""Ask the person for a line, hidden or not. Raises Refused(usage) where nobody can be asked."""


class Reviewer:
    """Who answers. `name`: who it is, asked for at the first answer when None; whoever is refused is asked for anew."""

    def __init__(
        self, invocation: "Invocation", app: "App", name: str | None, secret_file: Path | None, ask: Ask
    ) -> None:
        self._invocation, self._app, self._ask = invocation, app, ask
        self._given, self._secret_file = name, secret_file
        self._actor: Actor | None = None

    def forbidden(self, review_id: str) -> str | None:
        """Why the person may not answer it; None where the person may, or is not known yet. Never asks."""
        try:
            actor = self._actor or self._at_hand()
        except Refused as refused:
            return refused.message
        if actor is None:
            return None
        with self._app.open().read() as reader:
            review = reader.get(ReviewRecord, review_id)
            operation = None if review is None else reader.get(OperationRecord, review.operation_id)
            run = None if review is None else reader.get(RunRecord, review.run_id)
            if review is None or operation is None or run is None:
                return None
            return Standpoint(reader, actor, run, operation, review).why_not(Act.ANSWER.value)

    async def answer(
        self, review: Mapping[str, Any], *, approve: bool, comment: str, ask_revision: bool = False
    ) -> dict[str, Any]:
        """About the digest that was shown. ANSWERED. Raises Refused as `app.reviews.approve` and `reject`."""
        actor = self._actor or self._at_hand() or await self._asked()
        reviews, which, digest = self._app.reviews, review["review_id"], review["digest"]
        try:
            if approve:
                answered = await reviews.approve(which, digest=digest, by=actor, comment=comment)
            else:
                answered = await reviews.reject(
                    which, digest=digest, by=actor, comment=comment, ask_revision=ask_revision
                )
        except Refused as refused:
            if refused.code in ("own_proposal", "role_missing", "not_permitted", "person_revoked"):
                self._actor, self._given = None, None  # somebody else may
            raise
        self._actor = actor
        return answered

    def _at_hand(self) -> "Actor | None":
        """Without asking: a name that was given, and a secret that lies where it was put."""
        secret = None if self._given is None else secret_at_hand(self._invocation, self._given, self._secret_file)
        if self._given is None or secret is None:
            return None
        self._actor = self._app.access.by_secret(self._given, secret)
        return self._actor

    async def _asked(self) -> "Actor":
        name = self._given or (await self._ask("Who are you", False)).strip()
        secret = secret_at_hand(self._invocation, name, self._secret_file)
        if secret is None:
            secret = await self._ask(f"Secret of {name}", True)
        return self._app.access.by_secret(name, secret)
