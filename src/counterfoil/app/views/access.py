"""Grants and tokens as they are shown."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.access import GrantRecord, TokenRecord
from counterfoil.model.codec import parsed


def grant_view(grant: GrantRecord) -> dict[str, Any]:
    """GRANT. `granted_by` is None where whoever may write the database's file gave it."""
    return {
        "grant_id": grant.grant_id, "role": grant.role, "verb": grant.verb, "workflow": grant.workflow,
        "operation": grant.operation, "kind": grant.kind,
        "up_to": None if grant.up_to_minor is None else {"minor": grant.up_to_minor, "currency": grant.currency},
        "granted_by": grant.granted_by or None, "granted_at": rfc3339(grant.granted_at),
        "withdrawn_at": rfc3339(grant.withdrawn_at),
    }  # fmt: skip


def token_view(token: TokenRecord) -> dict[str, Any]:
    """TOKEN, without the token and its digest."""
    return {
        "token_id": token.token_id, "person": token.person, "name": token.name, "scope": parsed(token.scope),
        "created_at": rfc3339(token.created_at), "expires_at": rfc3339(token.expires_at),
        "revoked_at": rfc3339(token.revoked_at),
    }  # fmt: skip
