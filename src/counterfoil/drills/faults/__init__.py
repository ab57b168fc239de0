"""The faults, by name, in the order in which they are played. One line for each; a family has a file of its own."""

from collections.abc import Mapping

from counterfoil.drills.case import Fault
from counterfoil.drills.faults import killing, steps
from counterfoil.drills.faults.delivery import DELIVERY
from counterfoil.drills.faults.machine import MACHINE

_ALL: tuple[Fault, ...] = (
    Fault("kill-before", "The process is killed before the boundary.", killing.before, killing.killed_before),
    Fault("kill-after", "The process is killed after the boundary.", killing.after, killing.killed_after),
    *DELIVERY,
    Fault("step-always-fails", "A step never works; its budget ends it.", steps.cases, steps.always_fails),
    *MACHINE,
)

FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _ALL}
