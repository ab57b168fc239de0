"""Other people's engines and frameworks beside our ledger: one folder each, by their public interfaces only."""
