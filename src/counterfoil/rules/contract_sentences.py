"""A contract in plain words: what a retry does, until when, what absence proves, and what to do in doubt."""

from datetime import timedelta

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Meaning
from counterfoil.model.exchange import Exchange
from counterfoil.rules.absence import absence_authorises
from counterfoil.rules.classify import classify

_OTHER_BODY = {
    "rejects": "The same key with other content is rejected.",
    "replays": "The same key with other content is answered with the first answer, so equal bytes are required.",
    "identity": "The same key with other content is a second effect, so equal bytes are required.",
    "overwrites": "The same key with other content overwrites the first, so equal bytes are required.",
    None: "What the same key does with other content is unknown, so equal bytes are required.",
}
_UNSAVED = {
    "acts_again": "After any other answer the same key acts again.",
    "resumes": "After any other answer a repeat drives the same work to its end.",
    None: "What the same key does after any other answer is unknown, so it is taken to act again.",
}
_IN_PROGRESS = {
    "status": "While the first request runs, a repeat is told so.",
    "waits": "While the first request runs, a repeat waits for it.",
    "refuses": "While the first request may run, a repeat would be refused for that alone; we wait for it.",
    "both_may_fail": "Two requests at once may both fail, so a repeat waits until the first can no longer run.",
    None: "What a repeat meets while the first request runs is unknown; its refusal proves nothing about the first.",
}
_PRECONDITION = {
    "create_if_absent": "A retry is harmless at any time: the receiver creates the record only where there is none.",
    "expected_version": "A retry is harmless at any time: the receiver accepts it only on the version it was written for.",
}
_STAGES = {
    "one": "An accepted request has its effect.",
    "asynchronous": "Status 202 means that the receiver is still at work; a lookup or a webhook shows the end.",
    "prepare_confirm": "The write has two stages; the first one's token is the identity of the second.",
    None: "Whether status 202 means an effect is unknown, so by itself it proves nothing.",
}
_MEANS = {
    Meaning.APPLIED: "that the effect is there",
    Meaning.REFUSED: "that this try had no effect, for good",
    Meaning.NOT_APPLIED: "that nothing was executed, so it may be tried again",
    Meaning.IN_PROGRESS: "that the receiver is still at work",
    Meaning.KEY_MISMATCH: "that our key is bound to other content there",
    Meaning.KEY_POISONED: "an error that is kept under our key",
    Meaning.AMBIGUOUS: "nothing by itself: it may be that what we want exists already",
}
_DUPLICATE = {
    "benign": "A duplicate does no harm.",
    "costly": "A duplicate costs money or work.",
    "irreversible": "A duplicate cannot be undone.",
}


def plain_sentences(contract: Contract) -> list[str]:
    """What the contract means for whoever waits for this action. Each attribute has its sentence; unknown is said."""
    action = contract.action or "This action"
    return [
        f"{action} is described for API version {contract.api_version}.",
        *_version(contract),
        _DUPLICATE[contract.duplicate],
        *_retry(contract),
        *_answers(contract),
        *_absence(contract.lookup, contract),
        *_traces(contract),
        *_doubt(contract),
        *_origin(contract),
    ]


def _version(contract: Contract) -> list[str]:
    if contract.version is None:
        return ["Where that version travels is unknown, so a request under another one is not noticed."]
    return [f"That version travels in {' and '.join(contract.version.places)}; under another one nothing is sent."]


def _retry(contract: Contract) -> list[str]:
    seconds = contract.request_timeout.total_seconds()
    told = [f"A try is given up after {seconds:g} seconds; that proves nothing about its effect."]
    if contract.precondition is not None:
        told.append(_PRECONDITION[contract.precondition])
    if contract.key is not None:
        told += _key(contract.key)
    elif contract.precondition is None:
        told.append("A retry is a second effect: the receiver takes no key. It is never repeated by itself.")
    return told


def _key(key: IdempotencyKey) -> list[str]:
    kept = key.account_retention if key.account_retention is not None else key.retention
    after = {"first_accepted": "it was first accepted", "completion": "it was completed", "close": "it was closed"}
    begun = after.get(key.clock or "", "it was first sent")
    until = "for ever" if kept == timedelta.max else f"until {lasting(kept)} after {begun}"
    if kept is None:
        until = "for a time that is unknown, so it is never repeated by itself"
    told = [
        f"A retry under our key ({' and '.join(key.places)}, as {key.format.value}) has no second effect {until}.",
        *_late(key),
        f"The last {lasting(key.margin)} of that time are left unused." if key.margin is not None else "",
        f"A request may arrive up to {lasting(key.arrives_within)} late." if key.arrives_within is not None else "",
        _scope(key),
        _OTHER_BODY[key.other_body],
        f"Answers of class {', '.join(sorted(key.saves or {'2xx'}))} are kept under the key"
        + (" (unknown; the least that a key can mean)." if key.saves is None else "."),
        _UNSAVED[key.unsaved],
        _IN_PROGRESS[key.in_progress],
    ]
    marked = {**(key.replay_marker or {}), **(key.replay_body or {})}
    if marked:
        marks = ", ".join(f"{name}: {value}" for name, value in marked.items())
        told.append(f"A replayed answer is marked ({marks}).")
    if key.lock_timeout is not None:
        told.append(f"Its lock lets go after {lasting(key.lock_timeout)}; a later repeat could run beside the first.")
    return [sentence for sentence in told if sentence]


def _late(key: IdempotencyKey) -> list[str]:
    if (key.account_retention or key.retention) == timedelta.max:
        return []
    if key.after_window == "refuses":
        return ["After that a repeat is refused and has no effect; it says nothing about the first."]
    if key.after_window == "acts_again":
        return ["After that the same key is a second effect."]
    return ["What the key does after that is unknown, so it is taken to be a second effect."]


def _scope(key: IdempotencyKey) -> str:
    if key.scope is None:
        return "What narrows the key is unknown: a change of endpoint, credential or region makes it unusable."
    if not key.scope:
        return "Nothing narrows the key."
    return f"The key counts only within the same {' and '.join(sorted(key.scope))}."


def _answers(contract: Contract) -> list[str]:
    told = [_STAGES[contract.stages]]
    if contract.stages == "asynchronous":
        told.append(f"It is done after at most {lasting(contract.completes_within)}; until then it is asked again.")
    if contract.before_execution:
        statuses = ", ".join(str(status) for status in sorted(contract.before_execution, key=str))
        told.append(f"Status {statuses} comes before anything is executed: it may be tried again.")
    count = len(contract.classifier)
    told.append(
        f"{count} {'rule says' if count == 1 else 'rules say'} what an answer means; any other answer is a doubt."
    )
    told.append(_conflict(contract))
    if any(rule.meaning is Meaning.REFUSED for rule in contract.classifier):
        told.append("A refusal closes its own try; the action has failed only when every try is closed.")
    return told


def _conflict(contract: Contract) -> str:
    """A conflict means at least seven things in the wild, so each contract says which."""
    means = _MEANS[classify(contract, Exchange("body", True, 409, body=b"{}"))]
    told_apart = any(
        rule.header or rule.body
        for rule in contract.classifier
        if rule.status in ("any", "4xx") or (isinstance(rule.status, frozenset) and 409 in rule.status)
    )
    return f"A 409 means {means}{', unless its headers or its body say otherwise' if told_apart else ''}."


def _absence(lookup: Lookup | None, contract: Contract) -> list[str]:
    if lookup is None:
        return ["The receiver cannot be asked: nothing can prove that it did not happen."]
    late, visible = lasting(lookup.arrives_within), lasting(lookup.visible_within)
    consistency = lookup.consistency or "unknown"
    found = {
        "operation_id": "A record found by our operation id is ours.",
        "key": "A record found by our key is ours.",
    }.get(lookup.finds_by or "", "A found record is ours only if its content equals what was approved.")
    told = [
        f"The receiver can be asked ({consistency} consistency; unreachable: again after {lasting(lookup.pause)}, then more seldom).",
        found,
        f"An effect shows after at most {visible}; a request may arrive up to {late} after its sender's end.",
    ]
    if absence_authorises(contract):
        return [*told, "Not found after both times, in a complete walk, with the sender proven gone: it is sent again."]
    return [*told, "Not found proves nothing: it is never sent again for that alone."]


def _traces(contract: Contract) -> list[str]:
    told: list[str] = []
    if contract.reference is not None:
        told.append(f"Our operation id is stamped on it ({' and '.join(contract.reference.places)}).")
    else:
        told.append("Our operation id is not stamped on it by us.")
    for webhook in contract.receipts:
        what = "a receipt" if webhook.means == "happened" else "what became of it later"
        ours = f"our id at {webhook.operation}, " if webhook.operation else ""
        theirs = f"its reference at {webhook.reference}, " if webhook.reference else ""
        told.append(
            f"A message with {webhook.type_path} {webhook.type} is {what}: {ours}{theirs}its own id at {webhook.dedupe}."
        )
    if contract.counts_as:
        told.append(f"A sweep counts a record as ours by {', '.join(sorted(contract.counts_as))}.")
    else:
        told.append("A sweep can only give notice of records: nothing says which are ours.")
    return told


def _doubt(contract: Contract) -> list[str]:
    steps: list[str] = []
    if contract.key is not None or contract.precondition is not None:
        steps.append("repeat while that is harmless")
    if contract.lookup is not None:
        steps.append("ask the receiver")
    if contract.receipts:
        steps.append("wait for its message")
    steps.append("ask a person")
    told = [f"In doubt: {', then '.join(steps)}."]
    told.append(
        f"What that person does: {contract.procedure}" if contract.procedure else "No procedure is written down."
    )
    if contract.compensation is not None:
        told.append(f"Undone, by a person only: {contract.compensation}")
    else:
        told.append("Nothing is said about how it is undone.")
    return told


def _origin(contract: Contract) -> list[str]:
    provenance = contract.provenance
    if provenance is None:
        return ["Where these claims come from is not recorded."]
    told = [f"These claims come from {', '.join(provenance.sources)} ({provenance.date})."]
    for path, confidence in sorted(provenance.confidence.items()):
        told.append(f"{path} is {confidence}.")
    return told


def lasting(duration: timedelta | None) -> str:
    """A duration in words: `24 hours`."""
    if duration is None:
        return "an unknown time"
    seconds = duration.total_seconds()
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}" + ("" if count == 1 else "s")
    return f"{seconds:g} seconds"
