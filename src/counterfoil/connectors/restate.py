"""Restate: a handler is called through the ingress under our key. The invocation of that key can be asked for.

app.receiver("orders", url="https://restate.example:8080", credential=Bearer(Env("RESTATE_TOKEN")), environment="live")
call = restate.call(app, receiver="orders", owner="platform-oncall")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack
from urllib.parse import quote

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "restate_ingress"
NAME = r"^[A-Za-z0-9_.\-]+$"
ID, SOURCE = "x-restate-id", "x-restate-error-source"


class Invocation(BaseModel):
    """`number`: yours. `object`: the key of a virtual object or a workflow, where the service is one. `body`: its argument."""

    number: str
    service: Annotated[str, Target(), Field(pattern=NAME)]
    handler: Annotated[str, Field(pattern=NAME)]
    object: str | None = None
    body: Any = None


class InvocationReceipt(Receipt):
    """`reference`: Restate's id of the invocation. `result`: what the handler has given."""

    result: Any = None


def call(
    app: Declares,
    *,
    receiver: str = "restate",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Invocation, InvocationReceipt]:
    """`POST /SERVICE/HANDLER`. `overrides`: what your installation knows better than the catalogue, by attribute."""
    return declared(app, call_handler, call_contract(overrides), receiver, **governed)


def call_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `call`: the catalogue's, and Restate's own word about who has said no: the handler, or nobody was asked."""
    classifier = [
        When(header={SOURCE: "invocation"}).means("refused"),  # a terminal error, which is kept under the key
        When(status="4xx", header={SOURCE: "ingress"}).means("refused"),  # before any handler was called
        When(status="2xx").means("applied"),
    ]
    return contract_of(
        ENTRY,
        action="POST /{Service}/{handler}",
        find=find_invocation,
        overrides={"classifier": classifier, **(overrides or {})},
    )


async def call_handler(call: Call, invocation: Invocation) -> InvocationReceipt:
    """One request under our key, which waits for the handler's result."""
    reply = await call.http.post(f"/{_place(invocation)}", json=invocation.body)
    return _receipt(reply.headers, reply.json() if reply.content else None)


async def find_invocation(ask: Ask, invocation: Invocation) -> Seen[InvocationReceipt]:
    """The invocation of our key, once it has a result. Its argument is not shown: a key is one operation's alone."""
    reply = await ask.http.get(f"/restate/invocation/{_place(invocation)}/{quote(ask.key or '', safe='')}/output")
    if reply.status == 200:
        return Seen([Found(_receipt(reply.headers, reply.json() if reply.content else None))], complete=True)
    source = reply.headers.get(SOURCE)
    if reply.status == 404 and source == "ingress":
        return Seen([], complete=True)
    if source == "invocation":
        return Seen([], complete=False)  # it is there and has ended with a refusal, which a repeat is told as well
    raise RuntimeError(f"Restate answered {reply.status}: the invocation has no result yet, or cannot be asked for.")


def _place(invocation: Invocation) -> str:
    parts = (invocation.service, invocation.object, invocation.handler)
    return "/".join(quote(part, safe="") for part in parts if part is not None)


def _receipt(headers: Mapping[str, str], result: Any) -> InvocationReceipt:
    return InvocationReceipt(reference=headers[ID], result=result)
