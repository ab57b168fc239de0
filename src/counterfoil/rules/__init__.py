"""Pure decisions: facts in, rulings out. No clock, no chance, no network, no database."""
