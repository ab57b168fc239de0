"""A refund at a payment provider: the model chooses the amount, a person approves it, and it happens once."""
