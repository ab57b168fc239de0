"""The noun `keys`: the keys that approvals are signed with. Only their public halves are in the database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.signing import key_file, new_key, signer_in
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.keys import AddKey, RevokeKey
from counterfoil.engine.opened import Opened
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.signing import Keys, addition, keys_of

_HEX = frozenset("0123456789abcdef")


class ApprovalKeys:
    """`app.keys`. A key is named by its id, or a start of it that only one has."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [{key_id, public_key, added_by, added_at, revoked_at, signed_by, counts}], next_cursor: None}`, the oldest first."""
        opened = self._opened()
        with opened.read() as reader:
            rows = list(reader.rows(ApprovalKeyRecord))
        keys = keys_of(opened.installation_id, rows)
        return {"items": [_view(row, keys) for row in rows], "next_cursor": None}

    async def add(
        self, *, by: Actor | str, secret: str = "", file: Path | None = None, public_key: str | None = None
    ) -> dict[str, Any]:
        """Register a key. `file`: where its private half is, or is made; or `public_key`, as hex, of a key that is elsewhere.

        Signed by the key of this process where the installation has keys. `{key_id, public_key, ...}` as in `list`, plus
        `private_file`. Raises Refused: usage, not_permitted, approval_key_unusable, approval_unsigned.
        """
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            keys = keys_of(opened.installation_id, reader.rows(ApprovalKeyRecord))
        if (file is None) == (public_key is None):
            raise Refused("usage", problem="name the file of the new key, or the public half of one that is elsewhere")
        older = signer_in(key_file(opened.location)) if keys.required else None
        public_key = _public_half(file, public_key)
        verb = AddKey(opened.installation_id, public_key, person)
        if older is not None:
            signature = older.sign(addition(opened.installation_id, public_key, person))
            verb = AddKey(opened.installation_id, public_key, person, older.key_id, signature)
        await opened.write(verb)
        return self._shown(verb.public_key) | {"private_file": None if file is None else str(file)}

    async def revoke(self, key: str, *, by: Actor | str, secret: str = "", reason: str = "") -> dict[str, Any]:
        """Approvals signed by it no longer count, also those given already. As in `list`. Raises Refused(last_approval_key)."""
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            rows = [row for row in reader.rows(ApprovalKeyRecord) if key and row.key_id.startswith(key)]
        if len(rows) != 1:
            raise Refused("not_found", what="approval key", id=key)
        await opened.write(RevokeKey(opened.installation_id, rows[0].key_id, person, reason))
        return self._shown(rows[0].public_key)

    def _shown(self, public_key: str) -> dict[str, Any]:
        return next(item for item in self.list()["items"] if item["public_key"] == public_key)


def _public_half(file: Path | None, given: str | None) -> str:
    """32 bytes as hex: of the key in the file, which is made where it is not there, or as given. Raises Refused(usage)."""
    if file is not None:
        return (signer_in(file) if file.exists() else new_key(file)).public_key
    public_key = (given or "").strip().lower()
    if len(public_key) != 64 or not set(public_key) <= _HEX:
        raise Refused("usage", problem="a public key is 64 hexadecimal digits")
    return public_key


def _view(row: ApprovalKeyRecord, keys: Keys) -> dict[str, Any]:
    return {
        "key_id": row.key_id, "public_key": row.public_key, "added_by": row.added_by, "added_at": rfc3339(row.added_at),
        "revoked_at": rfc3339(row.revoked_at), "signed_by": row.signed_by, "counts": row.key_id in keys.live,
    }  # fmt: skip
