"""Signing in, and what people, roles and tokens may do."""

from counterfoil.app.access.access import Access
from counterfoil.app.access.actor import Actor

__all__ = ["Access", "Actor"]
