"""The application, and the verbs everyone outside calls."""

from counterfoil.app.application import App, load_app
from counterfoil.app.artifacts import Artifacts
from counterfoil.app.ledger import Ledger
from counterfoil.app.submitted import Submitted

__all__ = ["App", "Artifacts", "Ledger", "Submitted", "load_app"]
