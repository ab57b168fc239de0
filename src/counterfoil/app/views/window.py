"""The contract in force for one operation: what it guarantees in plain words, and its key's window as it stands now."""

from typing import Any

from counterfoil.app.views.contract import kind_of
from counterfoil.app.views.moments import rfc3339
from counterfoil.rules.contract_sentences import plain_sentences
from counterfoil.rules.gather import gather
from counterfoil.rules.key_window import repeat_until
from counterfoil.rules.recovery import rule
from counterfoil.rules.recovery_facts import Key
from counterfoil.rules.situation import Situation

_WORDS = {
    Key.NONE: "The receiver takes no key: nothing makes a repeat harmless.",
    Key.OPEN: "A repeat under the same key is harmless.",
    Key.BUSY: "The receiver may still be at work under this key.",
    Key.CLOSED: "The key's window is closed: a repeat may be a second effect.",
    Key.UNUSABLE: "This key can no longer be used.",
}


def in_force_view(situation: Situation) -> dict[str, Any]:
    """`{digest, kind, api_version, sentences, procedure, key: {state, sentence, repeat_until}, case: {letter, sentence}, facts}`.

    `case`: what the recovery table says to the facts as they are now; nothing is done by asking.
    """
    facts, contract = gather(situation), situation.contract
    case, ruling = rule(facts)
    return {
        "digest": situation.operation.contract_digest,
        "kind": kind_of(contract),
        "api_version": contract.api_version,
        "duplicate": contract.duplicate,
        "sentences": [sentence for sentence in plain_sentences(contract) if sentence],
        "procedure": contract.procedure,
        "key": {
            "state": facts.key.value, "sentence": _WORDS[facts.key], "repeat_until": rfc3339(repeat_until(situation)),
        },
        "case": {"letter": case.letter, "sentence": case.sentence, "ruling": ruling.kind.value, "reason": ruling.reason},
        "facts": {name: getattr(facts, name).value for name in facts.__dataclass_fields__},
    }  # fmt: skip
