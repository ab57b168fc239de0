"""The page of one review: what would leave, what changed, what it rests on, and the answer, which names the digest that was seen."""

from typing import Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.app.views.difference import payload_difference, payload_fields
from counterfoil.console.addresses import address
from counterfoil.console.errors import status_of
from counterfoil.console.pages.around import newest_around, run_around
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.pages.run import known, pretty
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

_STALE = frozenset({"digest_mismatch", "review_closed"})
_OVER = frozenset({"link_used", "link_stale", "link_closed", "link_expired"})
_WORDS = {"approved": "approved", "rejected": "rejected", "open": "counted"}


def routes() -> APIRouter:
    """`/reviews/{review}`: read it, answer it, take an approval back. `/answer/{link}`: the same by a signed link."""
    router = APIRouter()
    _by_link(router)

    @router.get("/reviews/{review}")
    def show(request: Request, review: str, at: AtDesk) -> Response:
        return _shown(request, at, review)

    @router.post("/reviews/{review}")
    async def answer(
        request: Request,
        review: str,
        at: AtDesk,
        digest: str = Form(""),
        decision: str = Form(""),
        comment: str = Form(""),
        link: str = Form(""),
    ) -> Response:
        count_answer(request, at.actor)
        if decision not in ("approve", "reject", "revise"):
            raise Refused("usage", problem="an answer approves, rejects or asks for a revision")
        if decision == "revise" and not comment.strip():
            raise Refused("usage", problem="asking for a revision says what to change, in the comment")
        try:
            if decision == "approve":
                given = await at.reviews.approve(review, digest=digest, comment=comment, link=link or None)
            else:
                given = await at.reviews.reject(
                    review, digest=digest, comment=comment, ask_revision=decision == "revise", link=link or None
                )
        except Refused as refused:
            if refused.code in _OVER:
                return _over(request, at, refused)
            if refused.code not in _STALE:
                raise
            return _stale(request, at, review, digest, decision, refused)
        return _answered(request, at, review, given)

    @router.post("/reviews/{review}/withdraw")
    async def withdraw(request: Request, review: str, at: AtDesk, comment: str = Form("")) -> Response:
        count_answer(request, at.actor)
        await at.reviews.withdraw(review, comment=comment)
        return done(
            request, address(request, f"/reviews/{review}"), "The approval is taken back; nothing is sent under it."
        )

    return router


def _by_link(router: APIRouter) -> None:
    @router.get("/answer/{link}")
    def follow(request: Request, link: str, at: AtDesk) -> Response:
        """Opening a link uses nothing: programs that look at mail open it, too."""
        try:
            return _shown(request, at, at.reviews.through(link), link)
        except Refused as refused:
            if refused.code not in _OVER:
                raise
            if request.headers.get("HX-Request"):  # the page that was opened by it follows the record
                return _shown(request, at, refused.details["review_id"])
            return _over(request, at, refused)


def _shown(request: Request, at: Desk, review: str, link: str = "") -> Response:
    newest = newest_around(at, at.reviews.show(review)["run_id"])
    shown = at.reviews.show(review)
    question = at.evidence.question(review)
    around = _around(at, shown)
    actions = {a["action"]: a for a in at.evidence.actions(shown["operation_id"])["items"]}
    return page(
        request, "review/review.html", desk=at, review=shown, question=question, pretty=pretty, link=link,
        following=bool(request.headers.get("HX-Request")), withdraw=actions.get("withdraw"),
        fields=payload_fields(shown["payload"], question["marks"]),
        newest=newest, **around,
    )  # fmt: skip


def _over(request: Request, at: Desk, refused: Refused) -> Response:
    """The link is good for no answer. The review, which this person may see, says how things stand."""
    shown = at.reviews.show(refused.details["review_id"])
    return page(request, "review/link.html", desk=at, status=status_of(refused), review=shown, error=refused)


def _stale(request: Request, at: Desk, review: str, digest: str, decision: str, refused: Refused) -> Response:
    """The answer was about something that is no longer asked: what is asked, or was answered, now."""
    shown = at.reviews.show(review)
    question, around = at.evidence.question(review), _around(at, shown)
    return page(
        request, "review/stale.html", desk=at, status=409, review=shown, question=question, seen=digest,
        decision=decision, error=refused, current_rows=_newer_rows(question, around), **around,
    )  # fmt: skip


def _newer_rows(question: dict[str, Any], around: dict[str, Any]) -> list[dict[str, Any]]:
    """The difference between the version that was answered and the one that is asked about now."""
    payloads = {version["version"]: version["payload"] for version in known(question["versions"])}
    shown = next((version["version"] for version in known(question["versions"]) if version["current"]), None)
    current = around["current"]
    if current is None or shown is None or current["proposal_version"] == shown:
        return []
    return payload_difference(payloads[shown], payloads[current["proposal_version"]])


def _answered(request: Request, at: Desk, review: str, given: dict[str, Any]) -> Response:
    """Both of two who answer at once are told who decided: the second answer is kept, and the first one counts."""
    shown = at.reviews.show(review)
    where = address(request, f"/reviews/rev-{shown['number']}")
    if given["decided"] == "earlier":
        who, what = shown["reviewer"] or "Somebody", _WORDS.get(given["state"], given["state"])
        text = f"{who} had {what} it already; your answer is kept beside it."
        return done(request, where, text, "calm")
    if given["state"] == "open":
        question = at.evidence.question(review)
        text = f"Your approval counts: {len(known(question['approvals']))} of {question['needed']}. It waits for another person."
        return done(request, where, text)
    draft = f"draft {shown['proposal_version']}"
    text = {
        "approved": f"You approved {draft}. A worker sends it when everything allows it.",
        "rejected": f"You rejected {draft}. Nothing is sent under it.",
    }.get(given["state"], f"Your answer is kept; the review is {given['state']}.")  # fmt: skip
    return done(request, where, text)


def _around(at: Desk, review: dict[str, Any]) -> dict[str, Any]:
    """The operation and the run, and the review that is open now, where it is another one."""
    run = run_around(at, review["run_id"])
    records = run["records"]
    operation = at.operations.show(review["operation_id"])
    asked = [
        r for r in known(records["approvals"]) if r["operation_id"] == review["operation_id"] and r["state"] == "open"
    ]
    current = asked[-1] if asked and asked[-1]["review_id"] != review["review_id"] else None
    return {"run": run, "operation": operation, "current": current}
