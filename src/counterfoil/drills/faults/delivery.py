"""The faults of delivery, people and receivers, by name: where each applies, and how it is played."""

from counterfoil.drills.case import Fault
from counterfoil.drills.faults import approvals, deliveries, freezing, receivers, replies

DELIVERY: tuple[Fault, ...] = (
    Fault("drop-reply", "The receiver accepts, and its answer is lost.", replies.cases("drop-reply"), replies.dropped),
    Fault(
        "error-after-accept",
        "The receiver accepts, and answers with a 500.",
        replies.cases("error-after-accept"),
        replies.failed_after,
    ),
    Fault("hang", "The receiver accepts, and never answers.", replies.cases("hang"), replies.hung),
    Fault("refuse", "The receiver refuses, without effect.", replies.cases("refuse"), replies.refused),
    Fault(
        "freeze-takeover-thaw",
        "A worker stands still past its lease, a second one takes over, then the first goes on.",
        freezing.cases,
        freezing.played,
    ),
    Fault("two-deliveries", "The same input is submitted twice at once.", deliveries.twice, deliveries.delivered_twice),
    Fault(
        "resubmit-same",
        "A known request id comes again with the same content.",
        deliveries.again_same,
        deliveries.resubmitted_same,
    ),
    Fault(
        "resubmit-other",
        "A known request id comes again with other content.",
        deliveries.again_other,
        deliveries.resubmitted_other,
    ),
    Fault(
        "answer-twice",
        "Two people answer a review at once, and a third one later.",
        approvals.at_reviews("answer-twice"),
        approvals.answered_twice,
    ),
    Fault(
        "answer-late",
        "A review is answered once its time is over.",
        approvals.at_reviews("answer-late"),
        approvals.answered_late,
    ),
    Fault(
        "answer-other-version",
        "An answer names another version than the one that is asked.",
        approvals.other_versions,
        approvals.answered_other,
    ),
    Fault(
        "authority-withdrawn",
        "Whoever approved loses the right before it is sent.",
        approvals.reviewed_sends,
        approvals.withdrawn,
    ),
    Fault(
        "lookup-lags", "The receiver shows what it made only after a while.", receivers.lagging, receivers.lookup_lagged
    ),
    Fault(
        "key-window-over",
        "The receiver has forgotten the key when somebody recovers.",
        receivers.windowed,
        receivers.window_over,
    ),
    Fault("key-store-lost", "The receiver loses its keys.", receivers.keyed, receivers.store_lost),
)
