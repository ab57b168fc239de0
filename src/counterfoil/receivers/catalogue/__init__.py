"""What real receivers guarantee: one file for each action and API version, as reviewed data. Nothing is read at import.

`contract("stripe_v1", find=find_refund)` is the contract of an entry; `contract_in` that of a file of your own.
`entry` and `entries` read the files.
"""

from counterfoil.receivers.catalogue.entry import Entry, contract, contract_in, entries, entry, ids
from counterfoil.receivers.catalogue.reading import read_contract

__all__ = ["Entry", "contract", "contract_in", "entries", "entry", "ids", "read_contract"]
