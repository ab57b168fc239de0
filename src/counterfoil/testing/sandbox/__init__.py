"""The sandbox: one configurable receiver, in a process of its own, that keeps exactly the contract it is given.

`python -m counterfoil.testing.sandbox` and `serve` run it; `counterfoil.testing.sandbox.process` starts it as a child.
"""

from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.kinds import KINDS, contract_of_kind
from counterfoil.testing.sandbox.server import FAULTS, serve

__all__ = ["FAULTS", "KINDS", "SandboxContract", "contract_of_kind", "serve"]
