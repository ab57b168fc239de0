"""What a text may mean, by index only."""

import json
from typing import Any

from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.finding import numbers_in
from counterfoil.store.port import Found
from counterfoil.store.questions import Questions
from counterfoil.store.reader_acts import SqlActs

_SEPARATOR = "\x1f"  # between receiver, environment, operation and the key that a person types
_DID = {
    EntryKind.ANSWER: ("review_id", "answered"),
    EntryKind.WITHDRAWN: ("review_id", "withdrew"),
    EntryKind.RESOLVED: ("operation_id", "resolved"),
    EntryKind.INCIDENT_CLOSED: ("incident_id", "closed"),
    EntryKind.TENDED: ("subject", "tended"),
    EntryKind.LOOKED_UP: ("operation_id", "looked up"),
    EntryKind.SUBMITTED: ("", "submitted"),
    EntryKind.RESUMED: ("", "resumed"),
    EntryKind.CANCEL_ASKED: ("", "cancelled"),
}


class SqlFinding:
    """Over one snapshot."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def named(self, text: str, *, limit: int) -> list[Found]:
        """What has this id, an id that begins so, or this number."""
        if not text:
            return []
        asked = {"text": text, "text_end": text + "~", "limit": limit, **numbers_in(text)}
        return [Found(*values) for values in self._questions.ask("find_named", asked)]

    def find(self, text: str, *, limit: int) -> list[Found]:
        """As `named`, then what the text stands in, then what the person of that name did and holds."""
        found = self.named(text, limit=limit)
        if text:
            asked = {"text": text, "keys": json.dumps(self._keys(text)), "limit": limit}
            found += [Found(*values) for values in self._questions.ask("find_said", asked)]
        if any(hit.kind == "person" for hit in found):
            found += [*self._held(text, limit), *self._done(text, limit)]
        return list(dict.fromkeys(found))[:limit]

    def _keys(self, text: str) -> list[str]:
        """The stored forms of a business key: behind each receiver, environment and operation that is known."""
        keys: list[str] = []
        after = ""
        while (known := self._questions.ask("next_business_key", {"after": after}).get) is not None:
            prefix = _SEPARATOR.join(str(known).split(_SEPARATOR)[:3])
            keys.append(f"{prefix}{_SEPARATOR}{text}")
            after = prefix + " "  # the first character behind the separator: past all keys of this kind
        return [text, *keys]

    def _held(self, person: str, limit: int) -> list[Found]:
        asked = {"text": person, "limit": limit}
        subjects = [subject for subject, _ in self._questions.ask("find_held", asked)]
        return [hit for subject in subjects for hit in self._whole(subject, "works on")]

    def _done(self, person: str, limit: int) -> list[Found]:
        found: list[Found] = []
        for act in SqlActs(self._questions).list(person=person, limit=limit):
            named, what = _DID.get(act.entry.kind, (None, ""))
            if named is not None:
                found += self._whole(_data(act.entry).get(named) or act.entry.run_id, what)
        return found

    def _whole(self, id_: str, what: str) -> list[Found]:
        """The thing with exactly this id, found for another reason than its name."""
        return [
            Found(hit.kind, hit.id, hit.number, hit.title, hit.run_id, what)
            for hit in self.named(id_, limit=2)
            if hit.id == id_
        ]


def _data(entry: Entry) -> dict[str, Any]:
    return json.loads(entry.body)["data"]
