"""Which runs a history may have had that a restore has lost, and since when it may have sent for them (design rule 20).

Identities are derived from the run: whatever was planned for it in the lost stretch, however it was worded, has the identity
of what is planned at the same position now. So an operation of such a run counts as maybe sent from its first day on.
"""

from counterfoil.model.installation import InstallationRecord
from counterfoil.model.run import RunRecord

CLONED = "this is a clone"  # why an operation of the original is withdrawn in its copy


def began(run: RunRecord) -> int:
    """The instant from which on any history may have had this run: its own beginning, or what `known_from` says."""
    return run.created_at if run.known_from is None else min(run.known_from, run.created_at)


def maybe_lost(run_from: int, restore: InstallationRecord) -> bool:
    """Whether a lost history may have sent for a run that began at `run_from`.

    While a restore is open, for every run. Afterwards for each that was there when it was finished, unless a person said that
    the database was only moved and nothing is lost.
    """
    return restore.restore_state == "open" or (restore.lost_until is not None and run_from <= restore.lost_until)


def lost_since(run_from: int, restore: InstallationRecord) -> int:
    """The earliest instant at which a lost history may have sent for it: the windows of keys count from there."""
    head = restore.restored_head_at
    # Of several restores only the newest head is kept; what an earlier one lost may be as old as the run.
    if head is None or restore.incarnation > 1:
        return run_from if head is None else min(run_from, head)
    return head


def is_the_originals(run_from: int, restore: InstallationRecord) -> bool:
    """In a clone: a run that was there when it was finished as one is its original's, with all that it will ever plan."""
    return restore.cloned_at is not None and run_from <= restore.cloned_at
