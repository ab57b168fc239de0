"""Closing a doubt: what is said, by whom, with which evidence, over the version of the operation that was seen."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Request, UploadFile
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.around import run_around
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

# The ways to resolve, each with what it means; the action of `evidence.actions` that allows it.
WAYS = (
    ("succeeded", "resolve_succeeded", "It happened", "The receiver holds it. Name the receiver's own reference."),
    (
        "failed",
        "resolve_failed",
        "It did not happen",
        "Proof that the receiver has nothing, and that nothing can still arrive.",
    ),
    ("send-again", "send_again_same", "Send again, same key", "The receiver itself makes the repeat harmless."),
    (
        "send-again-new",
        "send_again_new",
        "Send again, new key",
        "A second effect is possible; the old key stays under watch.",
    ),
)
HELD = (
    ("failed", "refuse", "Refuse it", "It is not meant twice. Nothing is sent."),
    ("send-again", "allow", "Allow it as one more", "Both are meant. It is sent under its own identity."),
)
_BLANK = {"way": "", "reference": "", "reason": "", "evidence": "", "version": ""}
_MOVED = frozenset({"stale_version", "not_in_doubt", "attempt_live", "unsafe_repeat"})


def routes() -> APIRouter:
    """`/operations/{operation}/resolve`."""
    router = APIRouter()

    @router.get("/operations/{operation}/resolve")
    def form(request: Request, operation: str, at: AtDesk, way: str = "") -> Response:
        return _form(request, at, operation, {"way": way})

    @router.post("/operations/{operation}/resolve")
    async def resolve(
        request: Request, operation: str, at: AtDesk, file: Annotated[UploadFile | None, File()] = None
    ) -> Response:
        count_answer(request, at.actor)
        given = {name: str(value) for name, value in (await request.form()).items() if isinstance(value, str)}
        uploaded = b"" if file is None else await file.read()
        try:
            shown = await _resolved(at, operation, given, uploaded, None if file is None else file.filename)
        except Refused as refused:
            if refused.code in _MOVED:
                return _moved(request, at, operation, given, refused)
            if refused.code == "usage":  # what was typed stays; only what is missing is said
                return _form(request, at, operation, given, problem=refused.message)
            raise
        words = {"succeeded": "It is recorded as having happened.", "failed": "It is recorded as not having happened."}
        text = words.get(given["way"], "It is ordered to be sent again; a worker does that.")
        return done(request, address(request, f"/operations/op-{shown['number']}"), f"Resolved. {text}")

    return router


async def _resolved(
    at: Desk, operation: str, given: dict[str, str], uploaded: bytes, filename: str | None
) -> dict[str, Any]:
    way, version = given.get("way", ""), given.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        raise Refused("usage", problem="the version that was seen is not named")
    if way not in {name for name, *_ in WAYS}:
        raise Refused("usage", problem="say what happened: one of the ways")
    text = given.get("evidence", "").strip().encode()
    if text and uploaded:
        # Both are one piece of evidence: what was written stands before what was attached.
        text += f"\n\n--- {filename or 'attached'} ---\n".encode()
    return await at.operations.resolve(
        operation, as_=way.removesuffix("-new"), new_key=way.endswith("-new"), reason=given.get("reason", ""),
        evidence=text + uploaded, evidence_name=filename if uploaded and filename and not text else "statement.txt",
        reference=given.get("reference", "").strip() or None, expect_version=int(version),
    )  # fmt: skip


def _form(request: Request, at: Desk, operation: str, given: dict[str, str], problem: str | None = None) -> Response:
    shown = at.operations.show(operation)
    evidence = at.evidence.operation(operation)
    actions = {action["action"]: action for action in at.evidence.actions(operation)["items"]}
    ways = [
        {
            "name": name,
            "title": title,
            "sentence": sentence,
            "allowed": actions[action]["allowed"],
            "reason": actions[action]["reason"],
        }
        for name, action, title, sentence in (HELD if "refuse" in actions else WAYS)
    ]
    return page(
        request, "operation/resolve.html", desk=at, status=422 if problem else 200, operation=shown, ways=ways,
        evidence=evidence, given=_BLANK | given, problem=problem, run=run_around(at, shown["run_id"]),
        closed=None if any(way["allowed"] for way in ways) else ways[0]["reason"],
    )  # fmt: skip


def _moved(request: Request, at: Desk, operation: str, given: dict[str, str], refused: Refused) -> Response:
    """Nothing was resolved: what moved since the page was made, and what stands now."""
    shown = at.operations.show(operation)
    seen = int(given["version"])
    return page(
        request, "operation/moved.html", desk=at, status=409, operation=shown, seen=seen, error=refused,
        moved=at.evidence.moved(operation, seen)["items"], run=run_around(at, shown["run_id"]),
    )  # fmt: skip
