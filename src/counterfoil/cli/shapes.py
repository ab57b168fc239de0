"""The shapes of answers, by name. `{a, b:[C]}`: an object with `a` and a list of C; a test holds real answers against them."""

SHAPES: dict[str, str] = {
    "NEXT": "{code, sentence, who:{kind: scheduler|reviewer|operator|none, name}, command, deadline_at}",
    "ATTEMPT": (
        "{attempt_id, n, worker_id, fence, started_at, deadline_at, sent: no|maybe, "
        "reached: nothing|connected|request|headers|body, answer:{status, class}, late}"
    ),
    "RECEIPT": (
        "{receipt_id, how: reply|lookup|webhook|statement|person, reference, proves: first_result|current_state|existence, "
        "body_digest, received_at}"
    ),
    "APPROVAL": (
        "{review_id, state: open|approved|rejected|expired|superseded, reviewer, role, proposal_version, digest, scope, "
        "decided_at, expires_at, used_by}"
    ),
    "REVIEW": (
        "APPROVAL and {number, run_id, operation_id, operation, kind, target, amount:AMOUNT, answers:ANSWERS, payload, sources, "
        "deadline_at, next_action:NEXT}"
    ),
    "AMOUNT": "{minor, currency}",
    "ANSWERS": "{needed, given:[{person, decision: approve|reject, at, comment, signed}]}",
    "IMPORT": "{import_id, receiver, file, file_digest, by, at, lines, matched, resolved}",
    "STATEMENT": (
        "{import_id, file, file_digest, receiver, dry_run, lines, skipped, matched, resolved:[LINE], not_resolved:[LINE], "
        "mismatch:[LINE], several:[LINE], theirs_not_ours:[LINE], ours_not_theirs:[{operation_id, number, operation, "
        "amount:AMOUNT, first_sent_at, closed_at}], unreadable:[{line, problem}], window:{begins_at, ends_at}, sound}"
    ),
    "LINE": "{line, reference, amount:AMOUNT, at, operation_id, operations:[op_number], why, code}",
    "DECISION": (
        "{decision_id, run_id, run_number, sequence, position, agent, kind: workflow|turn|compaction, conversation, "
        "versions:{workflow, workflow_version, model, "
        "prompt_version, policy_version}, revises, reason, asked_at, decided_at, usage, cost_micros, lost, "
        "verdict: corrected|rejected|expired|open|approved|none, verdicts:[VERDICT], operations:[{operation_id, number, operation, "
        "proposal_version, bound, status, reason, reused, closed_at}]}"
    ),
    "VERDICT": (
        "{verdict, by, comment, at, review_id, operation_id, proposal_version, how: proposal|revise, decision_id, void}"
    ),
    "USAGE": (
        "{key, asked, decisions, failed, lost, open, requests, input_tokens, output_tokens, unmeasured, cost_micros, unpriced}"
    ),
    "KEY": "{key_id, public_key, added_by, added_at, revoked_at, signed_by, counts}",
    "OPERATION": (
        "{operation_id, number, version, run_id, operation, receiver, environment, action, api_version, business_key, generation, "
        "occurrence, key_number, proposal_version, payload_digest, target, amount:AMOUNT, idempotency_key, "
        "status: prepared|in_flight|succeeded|failed|unknown, reason, reused, case:{letter, sentence}, "
        "contract:{digest, kind, window_ends_at, lookup, procedure}, attempts:[ATTEMPT], receipts:[RECEIPT], approval:APPROVAL, owner, "
        "next_action:NEXT}"
    ),
    "RUN": (
        "{run_id, number, workflow, workflow_version, generation, request_id, input_digest, "
        "state: pending|running|waiting|parked|completed|failed|cancelled, reason, sentence, established:[ESTABLISHED], "
        "pending:[PENDING], uncertain:[operation_id], next_action:NEXT, changed_since_approval:[{what, approved, now}], "
        "budgets:[LIMIT], temporal:{namespace, workflow_id, first_run_id, url}, "
        "records:{conversation:[MESSAGE], working_context:[DOCUMENT], "
        "execution_state:{head, entries:[{sequence, kind, position, digest, at}]}, operations:[OPERATION], receipts:[RECEIPT], "
        "approvals:[APPROVAL]}}"
    ),
    "CONVERSATION": (
        "{conversation_id, number, name, agent, turns, next: message|reset|handoff, at_work:{run_id, number, state, sentence}, "
        "queued, forked_from:{name, turn, run_id}, settings, settings_version, created_at, created_by}"
    ),
    "WORKING_DOCUMENT": (
        "{document_id, number, name, scope: run|conversation|agent|key, key, conversation, workflow, version, newest, at}"
    ),
    "VERSION": "{version, digest, body, at, turn, written_by:{run_id, number, workflow, request_id, by}}",
    "TURN": (
        "{n, conversation, run_id, number, request_id, agent, kind: message|reset|handoff|compaction|steer|imported, state, "
        "sentence, text, messages:[{role, text, at}], into, note, revises:{decision_id, reason}, pending:[PENDING], at}"
    ),
    "SENT": (
        "{admitted: new|follow_up|steer|existing, run_id, conversation_id, conversation, turn, into, number, state, reason, "
        "sentence, result, next_action:NEXT}"
    ),
    "ESTABLISHED": "{what, at, evidence}",
    "PENDING": "{kind: decision|attempt|timer|review|signal|child|turn, id, since_at, deadline_at}",
    "MESSAGE": "{sequence, role, text, at}",
    "DOCUMENT": "{name, version, digest, body, at}",
    "PERSON": "{name, roles, stand_in_for, revoked_at, added_at}",
    "INCIDENT": (
        "{incident_id, number, operation_id, run_id, business_key, what, evidence, opened_at, closed_at, closed_by, reason, "
        "next_action:NEXT}"
    ),
    "DELIVERY": (
        "{delivery_id, number, receiver, own_id, type, state: stored|matched|orphan|other, body, body_digest, received_at, seen, "
        "tries, next_at, operation_id, run_id, receipt_id, later, closed_at, closed_by, reason, next_action:NEXT}"
    ),
    "SWEEP": (
        "{asked, unreachable:[receiver], left, duplicates:[{operation_id, number, run_id, receiver, business_key, incident_id, "
        "records, owner}], notices:[{operation_id, number, run_id, receiver, business_key, records, notice}]}"
    ),
    "METRIC": (
        "{name, kind: gauge|counter|histogram, unit, labels:[label], of: installation|process, definition, does_not_count, "
        "values:[{labels, value, histogram:{count, sum, buckets:[{upto, count}]}}]}"
    ),
    "ITEM": (
        "{subject, kind: review|run|incident, number, run_id, run_number, workflow, request_id, operation_id, operation_number, "
        "operation, receiver, business_key, target, amount:{minor, currency}, reason, role, owner, owner_then, since_at, "
        "age_seconds, deadline_at, overdue, sentence, next_action:NEXT, taken_by, snoozed_until, snooze_reason, escalated_to, comments}"
    ),
    "ACT": "{at, person, verb, what, subject, run_id, sequence, ordinal, digest, details}",
    "SUSPENSION": "{scope, reason, by, at, lifted_at, lifted_by}",
    "RECEIVER": (
        "{receiver, environment, declared, suspended, in_doubt, oldest_doubt_at, last_day:{attempts, refused, ambiguous, "
        "failure_rate}, limits:{concurrency, in_use, rate, closed_until_at, closed_by}, paused:{sentence, by, at, until_at}, "
        "waiting, operations:[{operation, action, api_version, contract_digest, kind, lookup, window_us, duplicate, procedure, "
        "sentences}]}"
    ),
    "DRILL": (
        "{operation, contract_digest, workflow, workflow_version, target, target_digest, seed, cases, passed, not_applicable, "
        "not_run, by, at}"
    ),
    "LIMIT": "{kind: attempts|elapsed|tokens|spend|calls, of, limit, used, reserved, owner, scope, name, key}",
    "BUDGET": (
        "{budget_id, number, name, scope: run|conversation|workflow|business_day|operation, key, owner, limits:[LIMIT], unmeasured, "
        "opened_at, waiting:[run_id]}"
    ),
    "WAIVER": "{operation, reason, by, at, until, stands, revoked_at, revoked_by}",
    "UNATTENDED": (
        "{operation, receiver, environment, gate, drill_at, drill_digest, drill_age_seconds, "
        "drilled:[{workflow, workflow_version, contract_digest}], undrilled_version, waiver:WAIVER}"
    ),
    "RESTORE": "{recognised_by, sentence, suspended, in_doubt, adopted, state, restored_at, incarnation}",
    "ROLE": "{role, built_in, named, people:[name], grants:[GRANT], narrowed}",
    "GRANT": (
        "{grant_id, role, verb, workflow, operation, kind, up_to:{minor, currency}, granted_by, granted_at, withdrawn_at}"
    ),
    "TOKEN": "{token_id, person, name, scope:{verbs, workflows, operations}, created_at, expires_at, revoked_at}",
    "CASE": (
        "{case_id, name, boundary, fault, applied:{at, proof}, run_id, operation_ids, proposal_version, proposal_digest, attempts, "
        "receiver:{records, payload_digests, unledgered_writes}, receipts, approval_bound, outcome: succeeded|failed|unresolved, "
        "visible, owner, next_action:NEXT, verdict: pass|fail|not_applicable|not_run, reasons, seconds, repeat}"
    ),
    "STORY": (
        "{name, engine, receiver_kind, crash:{boundary, pid, exit_signal}, recovery:{pid, case, how: repeat|lookup|none}, run:RUN, "
        "operation:OPERATION, resubmitted:{run_id, admitted}, receiver:{records, record_ids, requests, records_file}, "
        "model:{requests, decisions, lost, next_answer_digest}, outcome: succeeded|unresolved}"
    ),
}

EXITS: dict[int, str] = {
    0: "nothing wrong",
    1: "the check found something, or the run that was waited for failed",
    2: "usage",
    3: "refused by a rule or a stale version",
    4: "unknown id",
    5: "ended waiting for a person",
    6: "a needed server or tool is missing",
    70: "our defect",
    130: "interrupted from the terminal",
}

RESOLVE, RAISE, RESUME = (
    "operations resolve",
    "runs resume --raise, or budgets raise for what runs share",
    "runs resume",
)

PARKED: dict[str, str] = {
    "outcome_unknown": RESOLVE,
    "receiver_mismatch": RESOLVE,
    "possible_repeat": RESOLVE,
    "business_key_conflict": RESOLVE,
    "inconsistent": RESOLVE,
    "order_overtaken": RESOLVE,
    "interrupted_tool": RESOLVE,
    "budget_attempts": RAISE,
    "budget_elapsed": RAISE,
    "budget_spend": RAISE,
    "budget_tokens": RAISE,
    "budget_calls": RAISE,
    "review_expired": RESUME,
    "expired": RESUME,
    "poisoned": RESUME,
    "no_progress": RESUME,
    "review_rejected": "runs resume or runs cancel",
    "step_failed": "runs retry",
    "duplicate_found": "incidents close",
    "restored": "restore finish",
    "writes_suspended": "writes resume, waivers add, or a drill that is registered",
    "clock_jump": "doctor",
    "no_worker": "worker",
    "code_changed": "runs cancel, or a worker with the old version",
}
