"""The demo: the examples told as stories in a terminal, with real processes, real kills and a receiver that counts."""
