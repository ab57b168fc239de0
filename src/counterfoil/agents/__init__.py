"""The durable agent's own: usage and cost of a model's answers."""
