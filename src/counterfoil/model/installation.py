"""The installation: one database, its incarnation, and what stops sending in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InstallationRecord:
    """The one row of `installation`. `restore_state` is None, open or finished; `batches` and `rolling` mirror the marker.

    `in_flight_batch` is the number of the newest commit that sent or forbade sending. `restored_head_at`: the newest time that
    was stored in what was restored; whatever it does not know may have been sent since then. `lost_until`: when that
    was finished, unless it was only moved: runs of before may have sent what is not known here. `cloned_at`: when it was
    finished as a clone; the runs of before are its original's.
    """

    installation_id: str
    name: str
    single_person: int
    marker_accepted: int  # 1: its owner accepted by name that no outside place holds the marker
    incarnation: int
    restore_state: str | None
    restore_reason: str | None
    restore_at: int | None
    batches: int
    rolling: bytes
    in_flight_batch: int
    clock_us: int  # the newest time ever stored: time never goes back
    created_at: int
    restored_head_at: int | None = None
    lost_until: int | None = None
    cloned_at: int | None = None


@dataclass(frozen=True, slots=True)
class LostRunRecord:
    """One row of `lost_runs`: a run that is named beside the outside marker, and that a restored database does not have."""

    run_id: str
    lost_from: int  # the restored head: since then it may have sent


@dataclass(frozen=True, slots=True)
class HostRecord:
    """One row of `hosts`: a state folder in which this ledger has an outside marker, or that has asked to begin one.

    `machine` is what tells this machine from others of its name, "" where nothing does. `line`: the server's timeline that its
    marker followed last. `asked_at` is set while it waits for a host that is known, `vouched_by` once one has answered.
    """

    host_id: str
    name: str
    machine: str
    line: int
    asked_at: int | None
    vouched_by: str | None
    known_at: int | None


@dataclass(frozen=True, slots=True)
class SuspensionRecord:
    """One row of `suspensions`: writes stopped by a person. `scope` is all, receiver:NAME or operation:ID."""

    scope: str
    reason: str
    by: str
    at: int
    lifted_at: int | None
    lifted_by: str | None


@dataclass(frozen=True, slots=True)
class IncidentRecord:
    """One row of `incidents`: the receiver contradicts us. Freezes the business key until a person closes it."""

    incident_id: str
    number: int
    operation_id: str
    run_id: str
    business_key: str | None
    what: str
    evidence: str
    opened_at: int
    closed_at: int | None
    closed_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """One row of `workers`. `versions` is JSON: workflow name to version."""

    worker_id: str
    host: str
    boot_id: str
    pid: int
    versions: str
    started_at: int
    seen_at: int
    draining: int
    stopped_at: int | None
    quiet: int = 0  # 1: a person asked it to take up nothing more
    queues: str | None = None  # the queues that it serves, as JSON; None: all


@dataclass(frozen=True, slots=True)
class BusinessKeyRecord:
    """One row of `business_keys`: who holds an intention. `holder` is the operation that is not failed."""

    business_key: str  # receiver account, environment, operation name and the key, joined
    operation_id: str
    payload_digest: str
    occurrence: int
    held_until: int | None  # after a person's `failed`: until late arrival is over


@dataclass(frozen=True, slots=True)
class ContractRecord:
    """One row of `contracts`: a contract in its stored form, by digest."""

    digest: str
    body: str
