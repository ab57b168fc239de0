"""The kinds of receivers that are explored: what the rules are told of each, and what it really does, from the same facts.

Times are short so that few instants matter; the rules only add and compare them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Rule, When
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.kinds import KINDS as SANDBOXES

SECOND = 1_000_000
TIMEOUT, LATE, LAG, WINDOW = 10, 20, 5, 120  # seconds: request, late arrival, until a lookup shows it, key window
MARKER = "idempotent-replayed"


@dataclass(frozen=True, slots=True)
class Kind:
    """`contract` is what the rules are told; `receiver` is what the receiver does. `lag_us`: until a lookup shows an effect.

    `once`: the object itself makes a second effect impossible (a chosen id, a unique field, the token of a first step).
    """

    name: str
    contract: Contract
    receiver: SandboxContract
    lag_us: int
    once: bool

    @property
    def keyed(self) -> bool:
        """Whether it keeps what it answered under a key."""
        return self.contract.key is not None

    @property
    def eventual(self) -> bool:
        """Whether a lookup may ask a replica that lags twice as long."""
        return self.receiver.lookup_consistency == "eventual"


def _kind(name: str) -> Kind:
    known = SANDBOXES[name]
    keyed = known.key_header is not None
    window = None if known.key_window_seconds is None else float(WINDOW)
    receiver = replace(known, key_window_seconds=window if keyed else None, late_arrival_seconds=float(LATE))
    once = not keyed and (known.client_id or known.two_step)
    lag = LAG if known.lookup and not once and name != "key" else 0
    contract = Contract(
        api_version="1",
        classifier=_classifier(receiver, once=once),
        key=_key(receiver) if keyed else None,
        lookup=_lookup(receiver, lag) if known.lookup and name != "key" else None,
        stages="one",
        precondition=("expected_version" if known.two_step else "create_if_absent") if once else None,
        duplicate="irreversible",
        procedure="Look at the receiver's own list.",
        request_timeout=timedelta(seconds=TIMEOUT),
    )
    return Kind(name, contract, receiver, lag * SECOND, once)


def _classifier(receiver: SandboxContract, *, once: bool) -> list[Rule]:
    """What its documentation says its answers mean. What it says of no answer stays ambiguous."""
    rules = [When(status="2xx").means("applied"), When(status={402, 404}).means("refused")]
    if once or receiver.key_header is None:
        return rules
    if receiver.other_body == "rejects":
        rules.insert(
            0, When(status=receiver.mismatch_status, body={"error.code": "key_mismatch"}).means("key_mismatch")
        )
    if receiver.replay != "conflicts":
        rules.insert(0, When(status=receiver.in_progress_status).means("in_progress"))
    return rules


def _key(receiver: SandboxContract) -> IdempotencyKey:
    forever = receiver.key_window_seconds is None
    return IdempotencyKey(
        header=receiver.key_header,
        retention=timedelta.max if forever else timedelta(seconds=WINDOW),
        clock="first_accepted",
        margin=timedelta(seconds=5),
        scope=receiver.key_scope,
        other_body="rejects" if receiver.other_body == "rejects" else "replays",
        saves=receiver.saves,
        replay_marker={MARKER: "true"} if receiver.replay_marker else None,
        in_progress="status",
        arrives_within=timedelta(seconds=LATE),
    )


def _lookup(receiver: SandboxContract, lag: int) -> Lookup:
    eventual = receiver.lookup_consistency == "eventual"
    return Lookup(
        "explore:find",
        consistency=receiver.lookup_consistency,
        visible_within=timedelta(seconds=lag * (2 if eventual else 1)),
        arrives_within=timedelta(seconds=LATE),
        finds_by="operation_id",
    )


KINDS: Mapping[str, Kind] = {name: _kind(name) for name in SANDBOXES}
"""By name: the three of the demo, then the ten by letter."""
