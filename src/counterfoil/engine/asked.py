"""What a call asks for, as a digest: a replay compares it with the record, here and where a function is executed elsewhere.

All but that of a payload are of plain JSON as it was written: nobody approves them, so they need not be canonical.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from counterfoil.model.codec import compact, digest_of
from counterfoil.store.journaling import written_list


def input_digest(bound: Sequence[Any]) -> str:
    """Of a call's inputs as JSON."""
    return hashlib.sha256(written_list(bound).encode()).hexdigest()[:32]


def decision_digest(plain: Any, prompt: str, policy: str | None) -> str:
    """Of what a model is asked, and under which versions."""
    return input_digest([plain, prompt] if policy is None else [plain, prompt, policy])


def proposal_digest(payload_digest: str, replaces: str | None, sources: Sequence[Any]) -> str:
    """Of a proposal: its payload, the proposal that it replaces by id, and its sources as JSON."""
    return digest_of(compact([payload_digest, replaces, list(sources)]).encode())


def approved_digest(operation_id: str, version: int, digest: str) -> str:
    """Of a proposal that is performed."""
    return f"{operation_id} {version} {digest}"
