"""Conversations over HTTP: what was said, sending a message, and cancelling the turn at work."""

from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.conversation import Aborted, Conversation, ConversationShown, Sent
from counterfoil.console.api.bodies import Aborting, Message, Revising
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("conversations")


@router.post(
    "/conversations",
    status_code=201,
    responses=gives(Answer[Sent], 201) | gives(Answer[Sent], 200, "The request id was known."),
)
async def send_message(at: AtDesk, body: Message) -> Response:
    """Send a message; a new name begins a conversation. Status 200: the request id was known, with the same content."""
    data = await at.conversations.send(
        body.text,
        conversation=body.conversation,
        request_id=body.request_id,
        agent=body.agent,
        when_busy=body.when_busy,
    )
    return answer("conversations send", data, 200 if data["admitted"] == "existing" else 201)


@router.get("/conversations", responses=gives(Answer[Page[Conversation]]))
def list_conversations(at: AtDesk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List conversations, newest first."""
    page = at.conversations.list(cursor=opened("conversations", cursor), limit=limit)
    return answer("conversations list", opaque("conversations", page))


@router.get("/conversations/{conversation}", responses=gives(Answer[ConversationShown]))
def show_conversation(at: AtDesk, conversation: Which, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """Show a conversation and its newest turns, oldest first; `transcript.next_cursor` leads to the turns before them."""
    shown = at.conversations.show(conversation, before=opened("transcript", cursor), limit=limit)
    return answer("conversations show", shown | {"transcript": opaque("transcript", shown["transcript"])})


@router.post("/conversations/{conversation}/revise", responses=gives(Answer[Sent]))
async def revise_answer(at: AtDesk, conversation: Which, body: Revising) -> Response:
    """Have the newest answer revised, for a reason that the model reads: a turn of its own. Both versions stay."""
    return answer("conversations revise", await at.conversations.revise(conversation, reason=body.reason))


@router.post("/conversations/{conversation}/abort", responses=gives(Answer[Aborted]))
async def abort_turn(at: AtDesk, conversation: Which, body: Aborting) -> Response:
    """Cancel the turn at work: nothing more of it is sent. What is queued runs next, or with `queued` is withdrawn, too."""
    data = await at.conversations.abort(conversation, reason=body.reason, queued=body.queued)
    return answer("conversations abort", data)
