"""Exhaustive exploration: every interleaving of two workers and a person on one operation, over the real rules and verbs."""

from counterfoil.testing.explore.kinds import KINDS
from counterfoil.testing.explore.report import RESIDUE, explore
from counterfoil.testing.explore.search import Bounds
from counterfoil.testing.explore.sources import explored_modules, source_digest

__all__ = ["KINDS", "RESIDUE", "Bounds", "explore", "explored_modules", "source_digest"]
