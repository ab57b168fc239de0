"""Every refusal this system can give: a stable code, what it says, and what is safe to do next."""

from counterfoil.model.error_code import DEFECT, MISSING, UNKNOWN, USAGE, ErrorCode
from counterfoil.model.error_code import REFUSED as REFUSED
from counterfoil.model.error_codes_budgets import BUDGETS
from counterfoil.model.error_codes_conversations import CONVERSATIONS
from counterfoil.model.error_codes_people import PEOPLE
from counterfoil.model.error_codes_receipts import RECEIPTS
from counterfoil.model.error_codes_storage import STORAGE
from counterfoil.model.error_codes_temporal import TEMPORAL

_ALL = (
    # what was asked
    ErrorCode("usage", "{problem}", "Correct the command and type it again; nothing was changed.", USAGE),
    ErrorCode(
        "malformed_statement",
        "The statement {name} cannot be read: {problem}.",
        "Correct the file, or say which column is which with --column; nothing was imported.",
        USAGE,
    ),
    ErrorCode(
        "malformed_dataset",
        "The data set {name} cannot be read: {problem}.",
        "Correct the file, or export it anew; nobody was asked.",
        USAGE,
    ),
    ErrorCode(
        "malformed_json",
        "The input is not JSON: {problem}.",
        "Correct the input and submit it again; nothing was stored.",
        USAGE,
    ),
    ErrorCode(
        "invalid_payload",
        "The value for {where} does not fit its type: {problem}.",
        "Correct the value and try again; nothing was stored.",
        USAGE,
    ),
    ErrorCode(
        "payload_altered",
        "The stored payload of {operation_id} was changed after it was proposed: it does not have the digest {digest}.",
        "Nothing is sent. `counterfoil verify` shows what was changed; put it back, or cancel the run.",
    ),
    ErrorCode(
        "secret_missing",
        "A secret is needed and there is no terminal to ask for it.",
        "Give it with --secret-file or COUNTERFOIL_SECRET.",
        USAGE,
    ),
    ErrorCode(
        "not_found",
        "There is no {what} {id}.",
        "Look the id up with `counterfoil find`; nothing was changed.",
        UNKNOWN,
    ),
    ErrorCode(
        "ambiguous_id",
        "{id} fits more than one {what}.",
        "Give more of the id; nothing was changed.",
        USAGE,
    ),
    ErrorCode(
        "app_not_found",
        "The application {target} cannot be loaded: {problem}.",
        "Name it with --app MODULE:NAME, COUNTERFOIL_APP or counterfoil.toml.",
        USAGE,
    ),
    ErrorCode(
        "unknown_workflow",
        "No workflow {name} is registered; there are: {known}.",
        "Check the name; nothing was stored.",
        UNKNOWN,
    ),
    ErrorCode(
        "unknown_boundary",
        "The story does not pass the boundary {name}.",
        "List them with `counterfoil boundaries`.",
        USAGE,
    ),
    ErrorCode("tool_missing", "{tool} is needed and is not here.", "{install}", MISSING),
    ErrorCode("defect", "{problem}", "This is our defect. The journal is intact; report it with the log.", DEFECT),
    # identity
    ErrorCode(
        "request_conflict",
        "Request {request_id} was stored with digest {stored}; this input has digest {given}.",
        "The stored run stands. Use a new request id for other content.",
    ),
    ErrorCode(
        "identity_conflict",
        "Identity {identity} was used for other content: stored {stored}, given {given}.",
        "The stored operation stands. Use another identity for other content.",
    ),
    ErrorCode(
        "signal_conflict",
        "Signal {signal_id} is stored with other content.",
        "The stored signal stands. Use a new signal id for other content.",
    ),
    ErrorCode(
        "frozen_payload",
        "Operation {operation_id} may have been sent; its payload can no longer change.",
        "Other content is another operation, which waits until this one is closed.",
    ),
    *PEOPLE,
    *CONVERSATIONS,
    # reviews
    ErrorCode(
        "digest_mismatch",
        "Review {review_id} asks about {asked}; the answer names {given}.",
        "Read the proposal again with `counterfoil reviews show`; the answer is kept and decides nothing.",
    ),
    ErrorCode(
        "review_closed",
        "Review {review_id} is {state}.",
        "The answer is kept and decides nothing. See `counterfoil reviews show`.",
    ),
    ErrorCode(
        "already_sent",
        "Operation {operation_id} may have been sent; its approval cannot be taken back.",
        "Cancel or suspend to forbid further sends; asking goes on.",
    ),
    # operations
    ErrorCode(
        "stale_version",
        "{what} is at version {current}; you have seen {given}.",
        "Read it again before you decide; nothing was changed.",
    ),
    ErrorCode(
        "not_in_doubt",
        "Operation {operation_id} is {status}; only a doubt is resolved.",
        "Read it with `counterfoil operations show`; nothing was changed.",
    ),
    ErrorCode(
        "attempt_live",
        "An attempt of operation {operation_id} may still be under way until {until}.",
        "Wait until it is over, then resolve; nothing was changed.",
    ),
    ErrorCode(
        "unsafe_repeat",
        "Sending again under the same key is not harmless: {problem}.",
        "Resolve as succeeded or failed, or order a new key with --new-key.",
    ),
    ErrorCode(
        "never_again",
        "Operation {operation_id} is a call of a tool that nobody declared: it is never sent again.",
        "Resolve it as succeeded or as failed; the model hears which, and plans anew.",
    ),
    ErrorCode(
        "no_reviewer",
        "The tool {tool} of the agent {agent} asks for an approval, and nobody is named who gives it.",
        "Declare it: @agent_tool(review=ReviewBy(...)), or reviewed(toolset, ReviewBy(...)). Nothing was run.",
    ),
    ErrorCode(
        "two_reviews",
        "The agent {agent} names two different reviews by the role {role} for its tools.",
        "Use one ReviewBy for all tools that this role reviews.",
    ),
    ErrorCode(
        "external_tool",
        "The tool {tool} is run outside of the agent, and its result would come from nowhere.",
        'Make it a tool with a function, or an operation; a long wait is a signal: @agent_tool(replay="run").',
    ),
    ErrorCode(
        "no_lookup",
        "The receiver of operation {operation_id} cannot be asked.",
        "Follow the contract's procedure and resolve with evidence.",
    ),
    ErrorCode(
        "fence_lost",
        "Another worker drives run {run_id} now.",
        "Nothing was written. The other worker goes on.",
    ),
    ErrorCode(
        "run_ended",
        "Run {run_id} is {state}.",
        "Nothing was changed. Submit a new run if more is wanted.",
    ),
    ErrorCode(
        "not_resumable",
        "Run {run_id} is {state} ({reason}); this command does not move it.",
        "Use the command that `counterfoil runs show` prints.",
    ),
    ErrorCode(
        "in_doubt",
        "Run {run_id} holds an operation in doubt.",
        "Resolve the operation first; the run takes its end then.",
    ),
    *BUDGETS,
    ErrorCode(
        "incident_closed",
        "Incident {incident_id} was closed by {by}.",
        "Nothing was changed. See `counterfoil incidents list`.",
    ),
    # the inbox
    ErrorCode(
        "not_waiting",
        "{subject} waits for nobody any more.",
        "See what does with `counterfoil inbox list`; nothing was changed.",
    ),
    ErrorCode(
        "taken",
        "{by} works on {subject} since {at}.",
        "Ask them, or hand it over to yourself with `counterfoil inbox hand-over`: that is recorded. Nothing was changed.",
    ),
    ErrorCode(
        "not_tended",
        "{subject} is not {what}.",
        "See `counterfoil inbox list`; nothing was changed.",
    ),
    ErrorCode(
        "snooze_too_long",
        "{subject} can be put off from {now} until its deadline {deadline}, no longer.",
        "Name an end before the deadline, or hand it over; nothing was changed.",
    ),
    ErrorCode(
        "selection_changed",
        "{count} things fit now; you have seen {seen}.",
        "Look at the preview again, then act; nothing was done.",
    ),
    # configuration, at start
    ErrorCode("no_contract", "Operation {name} has no contract.", "Declare what the receiver guarantees."),
    ErrorCode(
        "contract_contradiction",
        "The contract of {name} contradicts itself: {problem}.",
        "Correct the contract; nothing was started.",
    ),
    ErrorCode(
        "no_way_to_know",
        "Operation {name} has neither key nor lookup and no written procedure.",
        "Write the procedure: what to check, where, and what each answer means.",
    ),
    ErrorCode(
        "no_business_key",
        "Operation {name} is {duplicate} when repeated and has neither business key nor repeatable=True.",
        "Name the business key, or say that equal actions are meant.",
    ),
    ErrorCode(
        "no_owner",
        "Operation {name} has no owner.",
        "Give it a review or an owner; nothing was started.",
    ),
    ErrorCode(
        "money_marking",
        "Operation {name} marks money or target wrongly: {problem}.",
        "Correct the payload's annotations; nothing was started.",
    ),
    ErrorCode(
        "too_few_approvals",
        "Operation {name} asks for {approvals} approvals.",
        "Ask for one or more; nothing was started.",
    ),
    ErrorCode(
        "type_missing",
        "{name} lacks the annotation of {where}.",
        "Annotate it: what is stored goes through the annotation.",
    ),
    ErrorCode("name_taken", "The name {name} is registered twice.", "Give each its own name."),
    ErrorCode(
        "unknown_receiver",
        "Operation {name} names the receiver {receiver}, which is not declared.",
        "Declare it with app.receiver(...).",
    ),
    ErrorCode(
        "worker_stopped",
        "The worker {worker_id} has stopped.",
        "Nothing is left to quiet; look at the list of workers.",
    ),
    ErrorCode("setting_missing", "The setting {name} is not in the environment.", "Set it and start again."),
    *RECEIPTS,
    *STORAGE,
    *TEMPORAL,
    # unattended writes
    ErrorCode(
        "drill_undeclared",
        "The drill of {workflow} cannot be derived from its code: {problem}.",
        "Declare Scenario(workflow={workflow!r}, {what}) in its module, or in a module `drills` beside it; nothing was played.",
    ),
    ErrorCode(
        "drill_not_clean",
        "Without any disturbance {workflow} did not complete: {problem}",
        "Give its Scenario an input with which it completes, or mend the workflow; nothing was disturbed.",
    ),
    ErrorCode(
        "drill_missing",
        "{problem}.",
        "Nothing was sent. Drill the workflow and register it (`counterfoil drill TARGET --register`), or waive it by name and "
        "with an end (`counterfoil waivers add OPERATION`); the run goes on by itself.",
    ),
    ErrorCode(
        "drill_not_passed",
        "The drill of {target} is not registered: {problem}.",
        "Nothing was changed. Register a whole drill in which nothing failed.",
    ),
    ErrorCode(
        "waiver_end",
        "A waiver that ends at {until} is none: it ends after {now} and by {latest}.",
        "Nothing was changed. Name an end within 90 days; a drill has none.",
    ),
    ErrorCode(
        "no_waiver",
        "No waiver of {operation} stands.",
        "See `counterfoil waivers list`; nothing was changed.",
    ),
    ErrorCode(
        "restore_open",
        "A restore is unfinished and sending is suspended.",
        "Reconcile, then `counterfoil restore finish`.",
    ),
    ErrorCode("no_restore", "No restore is open.", "Nothing was changed. See `counterfoil restore status`."),
    # use of the library
    ErrorCode(
        "blocking_in_loop",
        "blocking(...) was called inside a running event loop.",
        "Await the call there instead.",
    ),
    ErrorCode(
        "outside_operation",
        "An HTTP write was tried outside an operation's one attempt: {problem}.",
        "Nothing was sent. Make each write an operation of its own.",
    ),
    ErrorCode(
        "contract_unreadable",
        "The contract file {name} cannot be read: {problem}.",
        "Correct the file; nothing is sent under a contract that cannot be read.",
    ),
    ErrorCode(
        "probe_not_confirmed",
        "A probe writes records at {url}, and nobody has confirmed that: --confirm must name {host}.",
        "Nothing was sent. Probe only a receiver of your own in test mode.",
    ),
    ErrorCode(
        "probe_not_test_mode",
        "The receiver does not say that it is in test mode: {marker} was wanted, {seen} was there.",
        "Nothing was written. Name a header that only your test mode sends, or probe another address.",
    ),
    ErrorCode(
        "contract_version_mismatch",
        "The request would go out under API version {sent}, and its contract is about {wanted}.",
        "Nothing was sent. Send under the contract's version, or take the contract of the other one.",
    ),
    ErrorCode(
        "agent_library_too_old",
        "Pydantic AI {found} cannot be attached to: {missing} is not there.",
        "Nothing was registered. Install pydantic-ai-slim 2.62 or newer; an agent that is not recorded is not run.",
    ),
    ErrorCode(
        "outside_run",
        'There is no run here: current_run() was called outside a tool with replay="run".',
        'Nothing was recorded. Declare the tool with `@agent_tool(replay="run")`, and let an agent of the application call it.',
    ),
    ErrorCode(
        "concurrent_calls",
        "Two calls of one branch are pending at once.",
        "Use run.gather or run.branch; nothing was written.",
    ),
    ErrorCode(
        "unserializable",
        "The value at {where} cannot be stored as JSON: {problem}.",
        "Return plain data or a Pydantic model.",
    ),
    # what callers outside a run hear
    ErrorCode(
        "no_identity",
        "A call has no identity that is the same when it is made again: {parts} has a part that is missing.",
        "Nothing was sent. Give the run, the thread and the call an id, and perform it there.",
    ),
    ErrorCode(
        "held_elsewhere",
        "{name} is held by another process, or by another call in this one.",
        "Nothing was done. It is free when that one is through, or gone.",
    ),
    ErrorCode(
        "thread_not_held",
        "The graph's thread {thread} goes on without being held, so another process may go on with it at the same time.",
        "Nothing was sent. Invoke the graph inside `with holding_thread(app, config):`.",
    ),
    ErrorCode(
        "not_durable",
        "The graph runs with durability={found}: a step that was begun may be lost after a crash, and be planned anew.",
        'Nothing was sent. Invoke it with durability="sync", on a graph with a checkpointer.',
    ),
    ErrorCode(
        "ledger_rejected",
        "{reviewer} rejected it: {comment}. Nothing was sent, and its business key is free.",
        "The caller hears it as ReviewRejected; what is asked for instead is performed under another identity.",
        1,
    ),
    ErrorCode(
        "unresolved",
        "{what} is not finished: {sentence}",
        "Do not send again. {command}",
        5,
    ),
    ErrorCode("run_failed", "Run {run_id} ended {state}: {problem}.", "Read it with `counterfoil runs show`.", 1),
)

CODES: dict[str, ErrorCode] = {entry.code: entry for entry in _ALL}
