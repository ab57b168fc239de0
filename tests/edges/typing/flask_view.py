"""A function of an existing synchronous program, as a user writes it."""

from pydantic import BaseModel

from counterfoil import App, Call, Contract, Receipt, Unresolved, When, blocking


class Invoice(BaseModel):
    number: str


app = App("x")


@app.operation(
    receiver="mail",
    contract=Contract(
        api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the mail desk."
    ),
    business_key="number",
    owner="ops",
)
def send_invoice(call: Call, invoice: Invoice) -> Receipt:
    reply = blocking(call.http.post("/send", json=invoice.model_dump()))
    return Receipt(reference=reply.json()["id"])


def view(number: str) -> str:
    try:
        return blocking(app.ledger.perform(send_invoice, Invoice(number=number), identity=number)).reference
    except Unresolved as doubt:
        return doubt.command
