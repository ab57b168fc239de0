"""Was every approval signed as its installation demanded then? Asked entry by entry, with the keys and rows as they were."""

from collections.abc import Mapping
from typing import Any

from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.rules.authority import approvals_of, heads
from counterfoil.rules.signing import Keys, holds, key_id_of, keys_of
from counterfoil.store.folding import Rebuilt
from counterfoil.store.journaling import Changes
from counterfoil.store.tables import BY_NAME

_ANSWERS, _REVIEWS, _KEYS, _PEOPLE = (BY_NAME[name] for name in ("answers", "reviews", "approval_keys", "people"))


class SignedAnswers:
    """`rebuilt` holds what the journal said so far, the entry that is asked about included."""

    def __init__(self, installation_id: str, rebuilt: Rebuilt) -> None:
        self._installation_id = installation_id
        self._rebuilt = rebuilt
        self._answers: dict[str, list[str]] = {}  # answer ids by review
        self._known: Keys | None = None

    def forged(self, changes: Changes) -> bool:
        """Whether an entry with these changes brought an approval, or a key, that nobody with a key stands for."""
        new_keys = changes.get("approval_keys", {})
        if new_keys:
            self._known = None
        answers = changes.get("answers", {})
        for key, columns in answers.items():
            self._answers.setdefault(str(columns.get("review_id")), []).append(key)
        return (
            any(not self._vouched(key) for key, columns in new_keys.items() if "public_key" in columns)
            or any(not self._signed(key) for key in answers)
            or any(not self._approved(key, columns) for key, columns in changes.get("reviews", {}).items())
        )

    def _keys(self) -> Keys:
        if self._known is None:
            self._known = keys_of(self._installation_id, self._rebuilt.records(_KEYS))
        return self._known

    def _vouched(self, key: str) -> bool:
        record = self._rebuilt.record(_KEYS, key)
        return record is not None and record.key_id == key_id_of(record.public_key) and key in self._keys().live

    def _signed(self, key: str) -> bool:
        """An approval is signed where keys are there, and what is signed says what its row says."""
        answer: AnswerRecord | None = self._rebuilt.record(_ANSWERS, key)
        if answer is None or not self._keys().required:
            return True
        decides = answer.matched == "now" and answer.decision == "approve"
        return self._holds(answer) if decides or (answer.signature is not None and answer.matched == "now") else True

    def _holds(self, answer: AnswerRecord) -> bool:
        review: ReviewRecord | None = self._rebuilt.record(_REVIEWS, answer.review_id)
        return review is not None and holds(self._keys(), self._installation_id, review, answer)

    def _approved(self, key: str, columns: Mapping[str, Any]) -> bool:
        """A review that became approved has enough signed answers by then."""
        if columns.get("state") != ReviewState.APPROVED or not self._keys().required:
            return True
        review: ReviewRecord | None = self._rebuilt.record(_REVIEWS, key)
        if review is None:
            return False
        answers = [self._rebuilt.record(_ANSWERS, answer) for answer in self._answers.get(key, ())]
        given = approvals_of(review, [answer for answer in answers if answer is not None])
        names = [answer.person for answer in given if self._holds(answer)]
        return len(heads(names, self._rebuilt.records(_PEOPLE))) >= review.needed
