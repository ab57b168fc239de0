"""Ready-made contracts: the three kinds of the demo, and the ten kinds that exist in the wild, by letter."""

from collections.abc import Mapping

from counterfoil.testing.sandbox.contract import SandboxContract

_DAY = 86_400.0
_REFERENCE = frozenset({"reference"})
_SUCCESS = frozenset({"2xx"})

KINDS: Mapping[str, SandboxContract] = {
    contract.kind: contract
    for contract in (
        SandboxContract(kind="key"),
        SandboxContract(kind="lookup", key_header=None, lookup_by=_REFERENCE),
        SandboxContract(kind="none", key_header=None, lookup=False),
        # A: the stored answer, errors too.
        SandboxContract(
            kind="A", mismatch_status=400, key_scope=frozenset({"credential", "endpoint"}), lookup_by=_REFERENCE
        ),
        # B: only a success is stored; after any error the repeat acts again.
        SandboxContract(kind="B", saves=_SUCCESS, lookup_by=_REFERENCE, replay_marker=False),
        # C: drives the same work to completion.
        SandboxContract(
            kind="C",
            saves=_SUCCESS,
            resumes=True,
            key_window_seconds=30 * _DAY,
            lookup_by=_REFERENCE,
            replay_marker=False,
        ),
        # D: answers with today's object, whatever the second body says.
        SandboxContract(kind="D", replay="current", other_body="replays", lookup_by=_REFERENCE, replay_marker=False),
        # E: acknowledges and does nothing, inside a short window.
        SandboxContract(
            kind="E",
            replay="acknowledges",
            other_body="replays",
            key_window_seconds=120,
            lookup=False,
            replay_marker=False,
        ),
        # F: a conflict that means "it exists".
        SandboxContract(
            kind="F",
            replay="conflicts",
            other_body="replays",
            key_window_seconds=None,
            lookup_by=_REFERENCE,
            replay_marker=False,
        ),
        # G: the client chooses the id, so key and object are one thing.
        SandboxContract(
            kind="G", key_header=None, client_id=True, mismatch_status=409, lookup_by=_REFERENCE, replay_marker=False
        ),
        # H: upsert by a field that is unique: the last body wins.
        SandboxContract(
            kind="H",
            key_header=None,
            client_id=True,
            unique_field="external_id",
            other_body="overwrites",
            lookup_by=_REFERENCE,
            replay_marker=False,
        ),
        # I: the id of the first step is the identity of the second.
        SandboxContract(kind="I", key_header=None, two_step=True, lookup_by=_REFERENCE, replay_marker=False),
        # J: no key; a repeat is a second effect, and a lookup lags.
        SandboxContract(
            kind="J", key_header=None, lookup_by=_REFERENCE, lookup_lag_seconds=2, lookup_consistency="eventual"
        ),
    )
}


def contract_of_kind(kind: str) -> SandboxContract:
    """The contract of a kind. ValueError for a kind that does not exist."""
    try:
        return KINDS[kind]
    except KeyError:
        raise ValueError(f"unknown kind {kind!r}; there are: {', '.join(KINDS)}") from None
