"""The other side: a service of your own that keeps its key, its parameters and its change in one transaction.

`Promise` says what the service guarantees, `Receiving` keeps it over a SQLAlchemy engine, `contract_text` writes the
contract that its clients load. `counterfoil.receiving.web` brings it to FastAPI. Nothing else of Counterfoil is needed.
"""

from counterfoil.receiving.answer import Answer
from counterfoil.receiving.asked import Asked
from counterfoil.receiving.contract import contract_of, contract_text
from counterfoil.receiving.keeping import Receiving
from counterfoil.receiving.promise import Promise
from counterfoil.receiving.sighting import Sighting
from counterfoil.receiving.table import keys_table

__all__ = ["Answer", "Asked", "Promise", "Receiving", "Sighting", "contract_of", "contract_text", "keys_table"]
