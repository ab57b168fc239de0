"""Counterfoil: a ledger for every write that an AI agent makes in the outside world.

These are the public names. Each is loaded when it is first used, so `import counterfoil` alone costs nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.app import App, Artifacts, Ledger, Submitted
    from counterfoil.client.client import Client
    from counterfoil.engine.blocking import blocking
    from counterfoil.engine.definitions import Bearer, Env, Keyring, Operation, SecretFile, SignedBy, Workflow, step
    from counterfoil.engine.document import Document, DocumentVersion
    from counterfoil.engine.port import Ask, Call, Run
    from counterfoil.model.artifact import Artifact
    from counterfoil.model.breaker import Breaker
    from counterfoil.model.budget import Budget, Retry, SharedBudget
    from counterfoil.model.contract import Contract, Found, IdempotencyKey, Lookup, Rule, Seen, When
    from counterfoil.model.errors import (
        CounterfoilError,
        DocumentMoved,
        OperationFailed,
        Refused,
        ReviewExpired,
        ReviewRejected,
        RunFailed,
        StepFailed,
        TimedOut,
        Unresolved,
    )
    from counterfoil.model.money import Money, Target
    from counterfoil.model.people import Owner
    from counterfoil.model.proposal import Proposal
    from counterfoil.model.receipt import Receipt
    from counterfoil.model.review import ReviewBy
    from counterfoil.model.slots import Partition, Rate

__all__ = [
    "App",
    "Artifact",
    "Artifacts",
    "Ask",
    "Bearer",
    "Breaker",
    "Budget",
    "Call",
    "Client",
    "Contract",
    "CounterfoilError",
    "Document",
    "DocumentMoved",
    "DocumentVersion",
    "Env",
    "Found",
    "IdempotencyKey",
    "Keyring",
    "Ledger",
    "Lookup",
    "Money",
    "Operation",
    "OperationFailed",
    "Owner",
    "Partition",
    "Proposal",
    "Rate",
    "Receipt",
    "Refused",
    "Retry",
    "ReviewBy",
    "ReviewExpired",
    "ReviewRejected",
    "Rule",
    "Run",
    "RunFailed",
    "SecretFile",
    "Seen",
    "SharedBudget",
    "SignedBy",
    "StepFailed",
    "Submitted",
    "Target",
    "TimedOut",
    "Unresolved",
    "When",
    "Workflow",
    "blocking",
    "step",
]

# Where each name lives. A test compares this with the imports above, which only type checkers see.
_HOMES = {
    "app": ("App", "Artifacts", "Ledger", "Submitted"),
    "client.client": ("Client",),
    "engine.blocking": ("blocking",),
    "engine.definitions": ("Bearer", "Env", "Keyring", "Operation", "SecretFile", "SignedBy", "Workflow", "step"),
    "engine.document": ("Document", "DocumentVersion"),
    "engine.port": ("Ask", "Call", "Run"),
    "model.artifact": ("Artifact",),
    "model.breaker": ("Breaker",),
    "model.budget": ("Budget", "Retry", "SharedBudget"),
    "model.contract": ("Contract", "Found", "IdempotencyKey", "Lookup", "Rule", "Seen", "When"),
    "model.errors": (
        "CounterfoilError",
        "DocumentMoved",
        "OperationFailed",
        "Refused",
        "ReviewExpired",
        "ReviewRejected",
        "RunFailed",
        "StepFailed",
        "TimedOut",
        "Unresolved",
    ),
    "model.money": ("Money", "Target"),
    "model.people": ("Owner",),
    "model.proposal": ("Proposal",),
    "model.receipt": ("Receipt",),
    "model.review": ("ReviewBy",),
    "model.slots": ("Partition", "Rate"),
}


def __getattr__(name: str) -> object:
    # Called only for a name that is not here yet; what is loaded stays, so each name is looked up once.
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
