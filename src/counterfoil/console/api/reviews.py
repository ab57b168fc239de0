"""Reviews over HTTP."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.review import Answered, Review, ReviewSummary
from counterfoil.console.api.bodies import Approving, Rejecting, Withdrawing
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk, count_answer

router = router_of("reviews")

State = Annotated[str | None, Query(max_length=20, description="open, approved, rejected, expired, superseded.")]


@router.get("/reviews", responses=gives(Answer[Page[ReviewSummary]]))
def list_reviews(at: AtDesk, state: State = None, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List reviews, newest first."""
    page = at.reviews.list(state=state, cursor=opened("reviews", cursor), limit=limit)
    return answer("reviews list", opaque("reviews", page))


@router.get("/reviews/{review}", responses=gives(Answer[Review]))
def show_review(at: AtDesk, review: Which) -> Response:
    """Show a review: the payload, what it rests on, and its digest."""
    return answer("reviews show", at.reviews.show(review))


@router.post("/reviews/{review}/approve", responses=gives(Answer[Answered]))
async def approve_review(request: Request, at: AtDesk, review: Which, body: Approving) -> Response:
    """Approve exactly the digest that was seen. Another version is refused, and the answer is kept."""
    count_answer(request, at.actor)
    return answer("reviews approve", await at.reviews.approve(review, digest=body.digest, comment=body.comment))


@router.post("/reviews/{review}/reject", responses=gives(Answer[Answered]))
async def reject_review(request: Request, at: AtDesk, review: Which, body: Rejecting) -> Response:
    """Reject the digest that was seen."""
    count_answer(request, at.actor)
    data = await at.reviews.reject(review, digest=body.digest, comment=body.comment, ask_revision=body.ask_revision)
    return answer("reviews reject", data)


@router.post("/reviews/{review}/withdraw", responses=gives(Answer[Answered]))
async def withdraw_approval(request: Request, at: AtDesk, review: Which, body: Withdrawing) -> Response:
    """Take an approval back, until the first attempt."""
    count_answer(request, at.actor)
    data = await at.reviews.withdraw(review, comment=body.comment, ask_revision=body.ask_revision)
    return answer("reviews withdraw", data)
