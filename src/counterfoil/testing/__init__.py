"""The public test kit: servers on the loopback that stand in for what is outside, and what drives them.

Nothing is imported here: a server that is started as a process of its own must be ready in a moment.
"""
