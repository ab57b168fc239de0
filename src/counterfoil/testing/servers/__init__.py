"""Servers that none of us wrote, on the loopback, each from construction until `close`: the receivers of drills."""
