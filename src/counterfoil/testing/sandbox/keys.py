"""What the sandbox remembers of keys, and the pure question what a request with a known key gets."""

from dataclasses import dataclass
from typing import Literal

from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.records import Records
from counterfoil.testing.sandbox.writes import Write

Repeat = Literal["execute", "mismatch", "overwrite", "busy", "wait", "refuse", "replay", "resume", "late"]


@dataclass(slots=True)
class KeyEntry:
    """One key in use. `status` is None while its first request runs."""

    digest: str
    started_at: float
    status: int | None = None
    body: object = None
    place: str | None = None
    ended_at: float | None = None


def repeat_of(contract: SandboxContract, entry: KeyEntry | None, digest: str, now: float) -> Repeat:
    """What a request gets whose key has this entry (None: the key is new)."""
    if entry is None:
        return "execute"
    if _over(contract, entry, now):
        return "late" if contract.refuses_late else "execute"
    if entry.digest != digest and contract.other_body == "rejects":
        return "mismatch"
    if entry.status is None:
        return _while_it_runs(contract, entry, now)
    if entry.digest != digest and contract.other_body == "overwrites" and entry.place is not None:
        return "overwrite"
    if f"{entry.status // 100}xx" in contract.saves:
        return "replay"
    return "resume" if contract.resumes and entry.place is not None else "execute"


def identity_of(contract: SandboxContract, write: Write) -> str | None:
    """What makes two requests the same for the key store; None when no key is honoured or none was sent."""
    if not contract.takes_key or write.key is None:
        return None
    parts = [write.key]
    if "endpoint" in contract.key_scope:
        parts.append(f"{write.method} {write.path}")
    if "credential" in contract.key_scope:
        parts.append(write.credential)
    if contract.other_body == "part_of_identity":
        parts.append(write.digest)
    return "\n".join(parts)


class Keys:
    """The key store. Answers with an effect survive a restart beside their record. Not thread-safe."""

    def __init__(self, records: Records) -> None:
        self._entries = {
            record.identity: KeyEntry(
                record.payload_digest,
                record.at_seconds,
                record.status,
                body_under_key(record.status, record.shown()),
                record.place,
            )
            for record in records
            if record.identity is not None
        }

    def find(self, identity: str | None) -> KeyEntry | None:
        """The entry of an identity."""
        return None if identity is None else self._entries.get(identity)

    def begin(self, identity: str | None, digest: str, now: float) -> KeyEntry:
        """A new entry in progress; kept if there is an identity."""
        entry = KeyEntry(digest, now)
        if identity is not None:
            self._entries[identity] = entry
        return entry

    def forget(self) -> int:
        """The key store is lost. How many keys it held."""
        held = len(self._entries)
        self._entries.clear()
        return held


def body_under_key(status: int, shown: dict[str, object]) -> object:
    """The body that goes with a status after an effect: the object, or an error that hides it."""
    if status < 400:
        return shown
    return {
        "error": {"type": "api_error", "code": "internal", "message": "something failed after the request was accepted"}
    }


def _over(contract: SandboxContract, entry: KeyEntry, now: float) -> bool:
    start = entry.started_at
    if contract.window_from == "completion":
        start = now if entry.status is None else entry.ended_at or start
    return _after(start, contract.key_window_seconds, now)


def _while_it_runs(contract: SandboxContract, entry: KeyEntry, now: float) -> Repeat:
    if _after(entry.started_at, contract.lock_timeout_seconds, now):
        return "execute"  # The trap: the lock lets go although the first request may still act.
    answers: dict[str, Repeat] = {"conflict": "busy", "waits": "wait", "refuses": "refuse"}
    return answers[contract.in_progress]


def _after(start: float, seconds: float | None, now: float) -> bool:
    return seconds is not None and now >= start + seconds
