"""An answer of an agent is revised: a turn of its own that asks anew, and knows all that the earlier version did outside."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from counterfoil.model.codec import parsed
from counterfoil.model.conversation import TurnKind, TurnRecord
from counterfoil.store.port import Reader


@dataclass(frozen=True, slots=True)
class Revision:
    """`revises`: the decision, as `run id/entry`. `message`: what the user said. `lineage`: the runs of all earlier versions."""

    revises: str
    reason: str
    message: str
    lineage: tuple[str, ...]

    def said(self) -> dict[str, Any]:
        """What the first entry of the run says of it."""
        facts = {"revises": self.revises, "reason": self.reason, "message": self.message}
        return {"revision": facts | {"lineage": list(self.lineage)}}

    @property
    def text(self) -> str:
        """What the model is asked."""
        return (
            "Your last answer to the message below is revised. Answer it anew, from what you know now. What your calls did "
            f"before stands as you were told: it is done, and not to be done again.\nReason: {self.reason}\nMessage: {self.message}"
        )


def revision_of(reader: Reader, run_id: str) -> Revision | None:
    """What a turn revises, as it was accepted; None for any other run."""
    first = reader.entries(run_id, limit=1)
    said: dict[str, Any] | None = parsed(first[0].body)["data"].get("revision") if first else None
    if said is None:
        return None
    return Revision(said["revises"], said["reason"], said["message"], tuple(said["lineage"]))


def revisions_behind(reader: Reader, run_id: str) -> Iterator[tuple[str, Revision]]:
    """The turns that revise an answer of this one, oldest first. Between may lie compactions."""
    behind: list[str] = [run_id]
    for before in behind:
        for turn in reader.find(TurnRecord, "prior_run_id", before):
            revision = revision_of(reader, turn.run_id)
            if revision is not None and revision.lineage[-1] == run_id:
                yield turn.run_id, revision
            elif turn.kind in (TurnKind.COMPACTION, TurnKind.STEER):
                behind.append(turn.run_id)
