"""The same workflows on a cluster of Temporal, with our ledger. Needs `counterfoil[temporal]`.

Temporal schedules and keeps the history; the ledger owns operations, reviews, receipts and evidence, and rules on recovery.
"""

from counterfoil.integrations.temporal.codec import EncryptionCodec
from counterfoil.integrations.temporal.namespace import check_namespace
from counterfoil.integrations.temporal.plugin import CounterfoilPlugin
from counterfoil.integrations.temporal.submitting import Started, submit
from counterfoil.integrations.temporal.workflows import Patience

__all__ = ["CounterfoilPlugin", "EncryptionCodec", "Patience", "Started", "check_namespace", "submit"]
