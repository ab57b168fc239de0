"""Where one can go in the console."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """One item of the navigation. `key`: what is pressed after `g`. `before`: a line stands above it."""

    name: str
    title: str
    path: str
    key: str
    before: bool = False


NAVIGATION = (
    Place("inbox", "Inbox", "/inbox", "i"),
    Place("conversations", "Conversations", "/conversations", "t"),
    Place("runs", "Runs", "/runs", "r"),
    Place("operations", "Operations", "/operations", "o"),
    Place("reviews", "Reviews", "/reviews", "v"),
    Place("incidents", "Incidents", "/incidents", "n"),
    Place("receivers", "Receivers", "/receivers", "e", before=True),
    Place("workers", "Workers", "/workers", "w"),
    Place("money", "Money", "/money", "m"),
    Place("metrics", "Metrics", "/charts", "c"),
    Place("audit", "Audit", "/audit", "a", before=True),
    Place("access", "Access", "/access", "p"),
    Place("stop", "Stop", "/stop", "s"),
)
