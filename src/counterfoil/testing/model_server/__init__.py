"""A model on the loopback that speaks OpenAI's two protocols and answers differently on every call.

`python -m counterfoil.testing.model_server` runs it; `counterfoil.testing.model_server.process` starts it as a child.
"""

from counterfoil.testing.model_server.server import FAULTS, serve

__all__ = ["FAULTS", "serve"]
