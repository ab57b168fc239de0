"""A Flask program that sends invoices by mail: its one write under the ledger."""

from flask import Flask
from pydantic import BaseModel

from counterfoil import App, Call, Contract, Env, Receipt, Unresolved, When, blocking

site = Flask(__name__)
app = App("invoices")
app.receiver("mail", url=Env("MAIL_URL"), environment="test")
site.register_error_handler(Unresolved, lambda doubt: ({"next": doubt.command}, 202))
contract = Contract(api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the mail desk.")


class Invoice(BaseModel):
    number: str
    lines: list[str] = []


@app.operation(receiver="mail", contract=contract, business_key="number", owner="ops")
def send_invoice(call: Call, invoice: Invoice) -> Receipt:
    return Receipt(reference=blocking(call.http.post("/send", json=invoice.model_dump())).json()["id"])


@site.post("/invoices/<number>")
def invoice(number: str):
    return {"receipt": blocking(app.ledger.perform(send_invoice, Invoice(number=number), identity=number)).reference}
