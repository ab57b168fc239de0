"""What the applications of drills have in common: one receiver that is reached over HTTP, with a credential, and a budget."""

from collections.abc import Mapping
from datetime import timedelta

from counterfoil.app.application import App
from counterfoil.connectors.serving import PLANTED
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.model.budget import Budget

BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="ops")


def application(name: str) -> App:
    """An application whose one receiver is this one, at the address that a drill gives it."""
    app = App(f"drilled-{name}")
    address, token = _settings(name)
    app.receiver(name, url=Env(address), credential=Bearer(Env(token)), environment="test")
    return app


def environ(name: str, url: str) -> Mapping[str, str]:
    """What the workers of such an application are given: the receiver's address, and the planted credential."""
    address, token = _settings(name)
    return {address: url, token: PLANTED}


def _settings(name: str) -> tuple[str, str]:
    return f"{name.upper()}_URL", f"{name.upper()}_TOKEN"
