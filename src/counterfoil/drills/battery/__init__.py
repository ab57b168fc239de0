"""The battery: small workflows of every kind, on which every guard of the engine is missed when it is taken away."""

from counterfoil.drills.battery.application import app
from counterfoil.drills.battery.workflows import SCENARIOS

__all__ = ["SCENARIOS", "app"]
