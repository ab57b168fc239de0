"""The life of an operation as a small picture: where each state and each move is drawn."""

from collections.abc import Mapping
from typing import Any

WIDTH, HEIGHT = 340, 232
_BOX = (104, 34)  # of a state, in the picture's units
_PLACES = {
    "prepared": (10, 12),
    "in_flight": (10, 98),
    "unknown": (212, 98),
    "succeeded": (10, 186),
    "failed": (212, 186),
}
_WORDS = {
    "prepared": "prepared",
    "in_flight": "in flight",
    "unknown": "unknown",
    "succeeded": "succeeded",
    "failed": "failed",
}
# Each move as a path between the boxes, ending where its head is drawn, with the direction of the head in degrees.
_PATHS: dict[tuple[str, str], tuple[str, int, int, int]] = {
    ("prepared", "in_flight"): ("M54 46V90", 54, 98, 90),
    ("in_flight", "prepared"): ("M78 98V54", 78, 46, -90),
    ("prepared", "failed"): ("M114 29H330V190", 330, 198, 90),
    ("in_flight", "unknown"): ("M114 109H204", 212, 109, 0),
    ("unknown", "in_flight"): ("M212 122H122", 114, 122, 180),
    ("unknown", "prepared"): ("M256 98V46H122", 114, 38, 180),
    ("in_flight", "succeeded"): ("M54 132V178", 54, 186, 90),
    ("in_flight", "failed"): ("M98 132L206 190", 212, 194, 28),
    ("unknown", "succeeded"): ("M226 132L120 192", 114, 196, 151),
    ("unknown", "failed"): ("M264 132V178", 264, 186, 90),
}


def picture_of(life: Mapping[str, Any]) -> dict[str, Any]:
    """`{width, height, nodes: [{status, words, x, y, width, height, reached, current}], moves: [{path, x, y, turn, taken}]}`."""
    width, height = _BOX
    nodes = [
        state | {"words": _WORDS[state["status"]], "x": x, "y": y, "width": width, "height": height}
        for state in life["states"]
        for x, y in [_PLACES[state["status"]]]
    ]
    moves = [
        {
            "path": path,
            "x": x,
            "y": y,
            "turn": turn,
            "taken": move["taken"],
            "begins": move["begins"],
            "ends": move["ends"],
        }
        for move in life["moves"]
        if (move["begins"], move["ends"]) in _PATHS
        for path, x, y, turn in [_PATHS[move["begins"], move["ends"]]]
    ]
    return {
        "width": WIDTH, "height": HEIGHT, "nodes": nodes,
        "moves": sorted(moves, key=lambda move: bool(move["taken"])),  # the way taken lies on top
    }  # fmt: skip
