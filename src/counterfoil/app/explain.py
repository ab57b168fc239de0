"""`explain`: what each operation promises, from the code alone, before anything runs."""

from typing import Any

from counterfoil.engine.definitions import Registry


def explain(registry: Registry, target: str | None = None, *, storage: str = "sqlite") -> dict[str, Any]:
    """`{target, items: [{operation, receiver, action, saved_decision, identity, business_key, review, guarantee, on_unknown,
    owner, procedure, storage_promise, sentences}]}`.

    `target`: an operation, a workflow (the operations that its function names), or None or the application's name for
    all. Raises Refused(not_found).
    """
    raise NotImplementedError
