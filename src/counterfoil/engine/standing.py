"""How an opened ledger stands to the outside marker of this host: asked at each opening, and on a server with each heartbeat.

A file has one marker. A ledger on a server has one for each host that works with it, in that host's state folder, and each
host judges by its own. A new host's first marker would prove nothing, so a host that has one answers for the ledger.
"""

from dataclasses import replace
from threading import Event

from counterfoil.engine.clock import host_name, machine_id, machine_of
from counterfoil.engine.hosts import AskToJoin, KeepHost, KeepLost, Vouch
from counterfoil.engine.opened import Opened
from counterfoil.engine.restoring import begin_restore
from counterfoil.model.errors import Refused
from counterfoil.model.installation import HostRecord, InstallationRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.marker import Difference, Marked, OutsideMarker
from counterfoil.store.port import Reader

ALIVE_US = 15_000_000  # three heartbeats
ANSWER_S, PAUSE_S = 15.0, 0.1


def stand(opened: Opened, *, attested: bool = False) -> bool:
    """A database that is not the one sent from is suspended before anything is sent; else its marker follows: whether it had to.

    `attested`: a person is about to say that it was restored. Blocks for seconds where another host is asked; not to be called from
    an event loop. Raises Refused(host_unvouched) on a new host for which no other answers, or StorageError.
    """
    marker, host_id = opened.marker, opened.host_id
    if marker is None:
        return False
    marked, installation, difference = opened.compared()
    if difference == "missing" and host_id is not None and installation.restore_state != "open":
        if attested:
            return False  # the marker begins with what the person says
        difference = _missing_here(opened, host_id, installation)
    flushed = False
    if difference is None:
        flushed = _follow(opened, marker, marked, installation)
    elif installation.restore_state != "open":
        _begin(opened, difference, marked)
    if host_id is not None and (difference is None or _registers(difference, installation)):
        _register(opened, marker, host_id)
    if host_id is not None and difference is None:
        _vouch(opened, host_id)
    return flushed


def _registers(difference: Difference, installation: InstallationRecord) -> bool:
    """A restore that is begun here takes the marker along; a copy leaves it to its original."""
    return difference == "forgotten" or (difference != "copied" and installation.restore_state != "open")


def _begin(opened: Opened, difference: Difference, marked: Marked | None) -> None:
    outside = 0 if marked is None else marked.mark.incarnation
    with opened.read() as reader:
        verb = begin_restore(reader, difference, outside_incarnation=outside)
    opened.writer.ask(verb)


def _follow(opened: Opened, marker: OutsideMarker, marked: Marked | None, installation: InstallationRecord) -> bool:
    """The database may be ahead: a crash came between a commit and its marker, another host has sent, or this is the first opening."""
    if marked is not None and marked.mark.incarnation < installation.incarnation:
        _name_lost(opened, marker)
    mark, place = opened.database.marked(), opened.place()
    weaker = marked is not None and marked.place.confirmed and not place.confirmed
    if marked is not None and marked.mark == mark and marked.place.line == place.line and not weaker:
        return False
    marker.flush(mark)
    return True


def _name_lost(opened: Opened, marker: OutsideMarker) -> None:
    """Another host has begun a restore since this one's marker was flushed: what only this one knows is counted too."""
    with opened.read() as reader:
        lost = [head.run_id for head in marker.heads() if reader.get(RunRecord, head.run_id) is None]
    lost = [run_id for run_id in lost if run_id != opened.installation_id]
    if lost:
        opened.writer.ask(KeepLost(opened.installation_id, tuple(lost)))


# --- hosts of one server ---------------------------------------------------------------------------------------------


def _own(opened: Opened, host_id: str) -> HostRecord:
    return HostRecord(host_id, host_name(), machine_id(), opened.place().line, None, None, None)


def _register(opened: Opened, marker: OutsideMarker, host_id: str) -> None:
    """First the database knows the host, then its marker says so: the other way round a crash between would look like a restore."""
    own = _own(opened, host_id)
    with opened.read() as reader:
        known = reader.get(HostRecord, host_id)
    if known is None or replace(own, known_at=known.known_at) != known or known.known_at is None:
        opened.writer.ask(KeepHost(opened.installation_id, own))
    marker.registered(host_id)
    marked = marker.read()
    if marked is None or marked.host != host_id:
        marker.flush(opened.database.marked())


def _vouch(opened: Opened, host_id: str) -> None:
    with opened.read() as reader:
        asked = [
            host.host_id for host in reader.rows(HostRecord)
            if host.host_id != host_id and host.asked_at is not None and host.vouched_by is None
        ]  # fmt: skip
    if asked:
        opened.writer.ask(Vouch(opened.installation_id, host_id, tuple(asked)))


def _missing_here(opened: Opened, host_id: str, installation: InstallationRecord) -> Difference | None:
    """This host has no marker: None where it may begin one from the present head. Raises Refused(host_unvouched).

    A ledger without a run has sent nothing that could be sent twice. Else a host whose marker agrees with the ledger must answer: one
    that works now, or one that was started since this one asked. A host that the ledger knows has lost its marker.
    """
    with opened.read() as reader:
        own = reader.get(HostRecord, host_id)
        known = [host for host in reader.rows(HostRecord) if host.known_at is not None]
        empty = installation.in_flight_batch == 0 and not reader.lists.runs(limit=1).items
    if empty or _answered(own):
        return None
    opened.writer.ask(AskToJoin(opened.installation_id, _own(opened, host_id)))
    if _answer_comes(opened, host_id):
        return None
    if any(host.host_id == host_id or (host.machine and host.machine == machine_id()) for host in known):
        return "missing"
    names = ", ".join(sorted({host.name for host in known})) or "none is known"
    raise Refused("host_unvouched", name=host_name(), known=names)


def _answered(host: HostRecord | None) -> bool:
    return host is not None and host.asked_at is not None and host.vouched_by is not None


def _answer_comes(opened: Opened, host_id: str) -> bool:
    """Wait for it as long as somebody works elsewhere who could give it."""
    never = Event()
    for _ in range(round(ANSWER_S / PAUSE_S)):
        with opened.read() as reader:
            if _answered(reader.get(HostRecord, host_id)):
                return True
            if not _works_elsewhere(opened, reader):
                return False
        never.wait(PAUSE_S)
    return False


def _works_elsewhere(opened: Opened, reader: Reader) -> bool:
    installation = reader.installation
    now = max(opened.clock.now_us(), 0 if installation is None else installation.clock_us)
    return any(
        worker.stopped_at is None
        and now - worker.seen_at <= ALIVE_US
        and not (machine_id() and machine_of(worker.boot_id) == machine_id())
        for worker in reader.lists.workers()
    )
