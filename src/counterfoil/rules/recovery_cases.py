"""The rows of the recovery table, as data: letters, words, rulings and sentences, with their predicates.

The same letters and sentences stand in code, log, console, drill report and docs. K to P, and T to Z, apply in this
order where two would fit. All other cases exclude each other by their words; none of them catches the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from counterfoil.rules.recovery_conditions import Condition, in_order, where
from counterfoil.rules.recovery_facts import Authority, Facts, Key, Lookup, Resolution
from counterfoil.rules.recovery_rulings import Ask, Kind, Ruling, Until
from counterfoil.rules.recovery_words import (
    ABSENT,
    CLASH,
    CLOSED,
    CONTRADICTED,
    DOUBT,
    DUE,
    FORBIDDEN,
    GO,
    HARMLESS,
    INCIDENT_OPEN,
    INCONSISTENT,
    JUDGED,
    LAPSED,
    LIVE,
    NEW,
    NOT_YET,
    ORDERED,
    OVERTAKEN,
    PENDING,
    QUIET,
    RECOGNISED,
    REFUSED,
    SPENT,
    STOPPED,
    UNDECIDED,
    UNEXPLAINED,
    WAY,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One row. `words` are the facts and `ruling` is the ruling as people read them; `predicate` and `decide` are both
    as functions. The kind of ruling is the same wherever the case applies; its reason may depend on the facts."""

    letter: str
    words: str
    ruling: str
    sentence: str
    predicate: Condition
    kind: Kind
    reason: Callable[[Facts], str | None]

    def decide(self, facts: Facts) -> Ruling:
        """The ruling of this case for facts that fall under it."""
        return Ruling(self.kind, self.reason(facts))


def _no_reason(facts: Facts) -> None:
    return None


def _because(reason: Ask) -> Callable[[Facts], str]:
    return lambda facts: reason


def _the_stop(facts: Facts) -> str:
    return facts.stop


def _attempt_over(facts: Facts) -> str:
    return Until.ATTEMPT_OVER


def _reviewed_or_due(facts: Facts) -> str:
    return Until.REVIEW if facts.authority == Authority.PENDING else Until.NEXT_TRY


def _receiver_or_turn(facts: Facts) -> str:
    if facts.key == Key.BUSY:
        return Until.RECEIVER_DONE
    if facts.lookup == Lookup.TOO_EARLY:
        return Until.VISIBLE
    if facts.lookup == Lookup.UNREACHABLE:
        return Until.REACHABLE
    return Until.RENEWAL if facts.authority == Authority.PENDING else Until.NEXT_TRY


# A person judges over a doubt, a clash, or an incident; where the receiver itself has answered, its answer is recorded.
_JUDGED_OVER = UNDECIDED | (CLASH & ~LIVE) | (UNEXPLAINED & INCIDENT_OPEN)

_K, _L, _M, _N, _O, _P = in_order(
    NEW & FORBIDDEN,
    NEW & STOPPED,
    NEW & SPENT,
    NEW & LAPSED,
    NEW & (PENDING | NOT_YET),
    NEW & GO,
)
_T, _U, _V, _W, _X, _Y, _Z = in_order(
    OVERTAKEN,
    DOUBT & ~(WAY & GO) & DUE,
    DOUBT & ~(WAY & GO) & (where(Key.BUSY) | where(Lookup.TOO_EARLY, Lookup.UNREACHABLE) | PENDING | NOT_YET),
    WAY & STOPPED,
    WAY & SPENT,
    WAY & LAPSED,
    (DOUBT & ~WAY) | (WAY & FORBIDDEN),
)

CASES: tuple[Case, ...] = (
    Case(
        letter="A",
        words="closed, evidence or lookup speaks against it, no incident open",
        ruling="open incident",
        sentence="The receiver contradicts an operation we have closed.",
        predicate=CONTRADICTED & ~INCIDENT_OPEN & ~INCONSISTENT,
        kind=Kind.OPEN_INCIDENT,
        reason=_no_reason,
    ),
    Case(
        letter="B",
        words="closed, nothing new (or the incident is open)",
        ruling="nothing",
        sentence="Closed, and nothing new speaks against it.",
        predicate=CLOSED & (~CONTRADICTED | INCIDENT_OPEN) & ~INCONSISTENT,
        kind=Kind.NOTHING,
        reason=_no_reason,
    ),
    Case(
        letter="C",
        words="open; several records, or a find for what was never sent; no incident open",
        ruling="open incident",
        sentence="The receiver holds two records, or one for something we never sent.",
        predicate=UNEXPLAINED & ~INCIDENT_OPEN & ~INCONSISTENT,
        kind=Kind.OPEN_INCIDENT,
        reason=_no_reason,
    ),
    Case(
        letter="D",
        words="open; several records, or a find for what was never sent; incident open, not judged",
        ruling="ask a person: duplicate_found",
        sentence="A person says which record counts.",
        predicate=UNEXPLAINED & INCIDENT_OPEN & ~JUDGED & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.DUPLICATE_FOUND),
    ),
    Case(
        letter="E",
        words="open; accepted and no mismatch, or a match and not refused",
        ruling="record success",
        sentence="The receiver has it, and it is ours.",
        predicate=RECOGNISED & ~INCONSISTENT,
        kind=Kind.RECORD_SUCCESS,
        reason=_no_reason,
    ),
    Case(
        letter="F",
        words="open; attempt live; quiet or clash",
        ruling="wait until",
        sentence="A try may still be under way; nothing starts before it ends.",
        predicate=(QUIET | CLASH) & LIVE & ~INCONSISTENT,
        kind=Kind.WAIT,
        reason=_attempt_over,
    ),
    Case(
        letter="G",
        words="open; clash (mismatch, or match although refused), not judged",
        ruling="ask a person: receiver_mismatch",
        sentence="The receiver has something else under our number.",
        predicate=CLASH & ~LIVE & ~JUDGED & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.RECEIVER_MISMATCH),
    ),
    Case(
        letter="H",
        words="quiet, refused by all, none live",
        ruling="record failure",
        sentence="Every try is refused or proven without effect.",
        predicate=QUIET & REFUSED & ~LIVE & ~INCONSISTENT,
        kind=Kind.RECORD_FAILURE,
        reason=_no_reason,
    ),
    Case(
        letter="I",
        words="judged by a person (over a doubt, a clash, or an incident): it happened",
        ruling="record success",
        sentence="A person has shown that it happened.",
        predicate=_JUDGED_OVER & where(Resolution.SUCCEEDED) & ~INCONSISTENT,
        kind=Kind.RECORD_SUCCESS,
        reason=_no_reason,
    ),
    Case(
        letter="J",
        words="judged by a person (over a doubt, a clash, or an incident): it did not happen",
        ruling="record failure",
        sentence="A person has shown that it did not happen.",
        predicate=_JUDGED_OVER & where(Resolution.FAILED) & ~INCONSISTENT,
        kind=Kind.RECORD_FAILURE,
        reason=_no_reason,
    ),
    Case(
        letter="K",
        words="new; rejected or withdrawn",
        ruling="close as never sent",
        sentence="Rejected or withdrawn before anything left.",
        predicate=_K & ~INCONSISTENT,
        kind=Kind.CLOSE_NEVER_SENT,
        reason=_no_reason,
    ),
    Case(
        letter="L",
        words="new; a stop",
        ruling="hold(stop)",
        sentence="Ready, but sending is stopped.",
        predicate=_L & ~INCONSISTENT,
        kind=Kind.HOLD,
        reason=_the_stop,
    ),
    Case(
        letter="M",
        words="new; budget spent",
        ruling="ask a person: budget",
        sentence="Never sent, and the budget is spent.",
        predicate=_M & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.BUDGET),
    ),
    Case(
        letter="N",
        words="new; lapsed",
        ruling="open review",
        sentence="Never sent, and nobody's approval covers it now.",
        predicate=_N & ~INCONSISTENT,
        kind=Kind.OPEN_REVIEW,
        reason=_no_reason,
    ),
    Case(
        letter="O",
        words="new; review pending, or next try not due",
        ruling="wait until",
        sentence="Never sent; waiting for its reviewer or its turn.",
        predicate=_O & ~INCONSISTENT,
        kind=Kind.WAIT,
        reason=_reviewed_or_due,
    ),
    Case(
        letter="P",
        words="new; go",
        ruling="send",
        sentence="Never sent, and everything allows it.",
        predicate=_P & ~INCONSISTENT,
        kind=Kind.SEND,
        reason=_no_reason,
    ),
    Case(
        letter="Q",
        words="way by order; go",
        ruling="send",
        sentence="A person ordered it sent again.",
        predicate=WAY & ORDERED & GO & ~INCONSISTENT,
        kind=Kind.SEND,
        reason=_no_reason,
    ),
    Case(
        letter="R",
        words="way because harmless; go",
        ruling="repeat",
        sentence="The receiver makes a repeat under this key harmless.",
        predicate=WAY & HARMLESS & GO & ~INCONSISTENT,
        kind=Kind.REPEAT,
        reason=_no_reason,
    ),
    Case(
        letter="S",
        words="way because absent; go",
        ruling="send",
        sentence="It is not there, can no longer arrive, and its sender is gone: same key.",
        predicate=WAY & ABSENT & GO & ~INCONSISTENT,
        kind=Kind.SEND,
        reason=_no_reason,
    ),
    Case(
        letter="T",
        words="doubt; again_same, key closed or unusable",
        ruling="ask a person: order_overtaken",
        sentence="The ordered repeat is no longer harmless.",
        predicate=_T & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.ORDER_OVERTAKEN),
    ),
    Case(
        letter="U",
        words="doubt; lookup due (not T), and not (way and go)",
        ruling="look up",
        sentence="In doubt, and the receiver can be asked.",
        predicate=_U & ~INCONSISTENT,
        kind=Kind.LOOK_UP,
        reason=_no_reason,
    ),
    Case(
        letter="V",
        words="doubt; busy, too early, unreachable, or a renewal or the next try not due; and not (way and go)",
        ruling="wait until",
        sentence="The receiver is at work, out of reach or cannot know yet, or it is not our turn.",
        predicate=_V & ~INCONSISTENT,
        kind=Kind.WAIT,
        reason=_receiver_or_turn,
    ),
    Case(
        letter="W",
        words="way; a stop",
        ruling="hold(stop)",
        sentence="It may be sent again, but sending is stopped.",
        predicate=_W & ~INCONSISTENT,
        kind=Kind.HOLD,
        reason=_the_stop,
    ),
    Case(
        letter="X",
        words="way; budget spent",
        ruling="ask a person: budget",
        sentence="It may be sent again, but the budget is spent.",
        predicate=_X & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.BUDGET),
    ),
    Case(
        letter="Y",
        words="way; lapsed",
        ruling="open renewal",
        sentence="Only another send could tell, and the approval no longer covers it.",
        predicate=_Y & ~INCONSISTENT,
        kind=Kind.OPEN_RENEWAL,
        reason=_no_reason,
    ),
    Case(
        letter="Z",
        words="doubt; no way, nothing to ask or to wait for; or only a send could tell and it is rejected or withdrawn",
        ruling="ask a person: outcome_unknown",
        sentence="Nothing that we may do can tell.",
        predicate=_Z & ~INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.OUTCOME_UNKNOWN),
    ),
    Case(
        letter="AA",
        words="impossible together",
        ruling="ask a person: inconsistent",
        sentence="These facts cannot all be true: our own record is wrong somewhere.",
        predicate=INCONSISTENT,
        kind=Kind.ASK_PERSON,
        reason=_because(Ask.INCONSISTENT),
    ),
)
"""All cases, in the order of their letters. Only the last rules over combinations that cannot be."""
