"""Deterministic simulation: the real engine, rules and store in a world whose time, order, network and crashes come from a seed.

`simulate` plays many schedules and reports; `play` plays one.
"""

from counterfoil.testing.simulate.options import SWITCHES
from counterfoil.testing.simulate.running import Report, command, simulate
from counterfoil.testing.simulate.schedule import Played, Stage, options_of, play

__all__ = ["SWITCHES", "Played", "Report", "Stage", "command", "options_of", "play", "simulate"]
