"""What is refused about conversations."""

from counterfoil.model.error_code import USAGE, ErrorCode

CONVERSATIONS = (
    ErrorCode(
        "conversation_busy",
        "The newest turn of {conversation} has not ended: {run_id} is {state}.",
        "Nothing was stored. Send it again later under the same request id, or with when_busy follow_up or steer.",
    ),
    ErrorCode(
        "other_agent",
        "{conversation} is a conversation with {agent}, not with {given}.",
        "Nothing was stored. Send it to that agent, or hand the conversation over: `counterfoil conversations handoff`.",
    ),
    ErrorCode(
        "in_conversation",
        "What is said in {conversation} is a message of it, not a run of {workflow} by itself.",
        "Nothing was stored. Send it: `counterfoil conversations send`, or leave `conversation` out.",
        USAGE,
    ),
    ErrorCode(
        "turn_followed",
        "The turn {run_id} has ended, and others were said since: it is their history.",
        "Nothing was changed. Send its message again, under another request id.",
    ),
    ErrorCode(
        "conversation_exists",
        "There is a conversation {name} already.",
        "Choose another name; nothing was changed. Names are never given twice.",
    ),
    ErrorCode(
        "no_such_turn",
        "{conversation} has no turn {turn}.",
        "See `counterfoil conversations show`; nothing was changed.",
        USAGE,
    ),
    ErrorCode(
        "turn_open",
        "Turn {turn} of {conversation} has not ended, or one of its operations is not closed: {run_id} is {state}.",
        "Nothing was forked. Fork at an earlier turn, or when this one has ended.",
    ),
    ErrorCode(
        "nobody_at_work",
        "No turn of {conversation} is at work.",
        "Nothing was cancelled; whatever it said last stands.",
    ),
    ErrorCode(
        "nothing_to_revise",
        "{conversation} has no answer that can be revised: {problem}.",
        "Nothing was asked; say what you want as a message.",
    ),
    ErrorCode(
        "bad_setting",
        "The setting {name} cannot be {value}: {problem}.",
        "Nothing was changed.",
        USAGE,
    ),
    ErrorCode(
        "document_unfit",
        "The document {name} cannot be declared so: {problem}.",
        "Nothing runs. Correct app.document(...).",
        USAGE,
    ),
    ErrorCode(
        "document_without_key",
        "The document {name} lies under a key, and nobody names one: its conversation's setting is {setting}.",
        "Nothing was read. Set it with `counterfoil conversations settings`, or name the key in the code: document.of(key).",
        USAGE,
    ),
    ErrorCode(
        "malformed_export",
        "Line {line} of {name} cannot be imported: {problem}.",
        "Nothing was imported. Export the conversation again.",
        USAGE,
    ),
)
