"""Operations ready to use, one file for each receiver: `from counterfoil.connectors import stripe`. See docs/connectors.md."""
