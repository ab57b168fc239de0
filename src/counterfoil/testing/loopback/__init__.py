"""What the loopback servers share: serving until standard input closes, exchanges, faults, counted traffic, the client.

These servers stand outside the system under test, so nothing here imports the engine, the store or the model.
"""
