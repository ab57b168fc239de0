"""Sending and asking: the only code that talks to receivers."""
