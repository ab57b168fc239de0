"""The nouns as one signed-in person sees and uses them."""

from counterfoil.app.desk.desk import Desk

__all__ = ["Desk"]
