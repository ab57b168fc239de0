"""Metrics: counted from the journal, read from the database, shown in every form from one reading."""

from counterfoil.app.metrics.exposition import exposition as exposition
from counterfoil.app.metrics.noun import Metrics as Metrics
