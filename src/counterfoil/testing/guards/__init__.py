"""The protections of the engine by name, and how each is taken away from outside: no code of ours has a switch for it."""

from counterfoil.testing.guards.guard import Guard, Replacement
from counterfoil.testing.guards.known import GUARDS, remove, without

__all__ = ["GUARDS", "Guard", "Replacement", "remove", "without"]
