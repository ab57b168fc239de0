"""The faults of machine, storage, clock and deployment, by name."""

from counterfoil.drills.case import Fault
from counterfoil.drills.faults import archive, clocks, code, disk, power, restores

MACHINE: tuple[Fault, ...] = (
    Fault("code-changed", "Other code for the same version drives the run, then the old one.", code.cases, code.play),
    Fault("restored-file", "The database's file is restored.", restores.cases("restored-file"), restores.file_restored),
    Fault(
        "restored-directory",
        "The database's whole folder is restored.",
        restores.cases("restored-directory"),
        restores.directory_restored,
    ),
    Fault("cloned", "A copy of the installation is opened elsewhere.", restores.cases("cloned"), restores.cloned),
    Fault("power-cut", "The power goes at the flush of a commit.", power.cases, power.play),
    Fault("disk-full", "The disk is full at a commit.", disk.cases, disk.play),
    Fault("clock-back", "The wall clock is set two hours back.", clocks.cases("clock-back"), clocks.stepped_back),
    Fault("clock-forward", "It is set two hours forward.", clocks.cases("clock-forward"), clocks.stepped_forward),
    Fault(
        "archived-then-again",
        "The run is archived, then the same action is asked for again.",
        archive.cases,
        archive.play,
        not_built=archive.NOT_BUILT,
    ),
)
