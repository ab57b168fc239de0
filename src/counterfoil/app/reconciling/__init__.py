"""Reconciling a restored ledger: every receiver is asked about everything that was prepared and not closed."""
