"""Times as people and programs read them."""

from counterfoil.model.moments import rfc3339 as rfc3339
