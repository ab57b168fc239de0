"""The support desk's two writes under a plain workflow: a refund and an e-mail, with people who approve both."""

from datetime import timedelta

from pydantic import BaseModel

from counterfoil import App, Budget, Env, Run
from counterfoil.examples.support_desk.app import Refund, create_refund, send_email
from counterfoil.examples.support_desk.mail import Mail

app = App("writes")
app.receiver("payments", url=Env("PAYMENTS_URL"), environment="test")
app.receiver("mail", url=Env("MAIL_URL"), environment="test")
app.registry.add_operation(create_refund)
app.registry.add_operation(send_email)
LOAD = Budget(attempts=12, elapsed=timedelta(days=2), spend_usd=3, owner="support-desk")


class Wanted(BaseModel):
    refund: Refund | None = None
    mail: Mail | None = None


@app.workflow(version=1, budget=LOAD)
async def both(run: Run, wanted: Wanted) -> list[str]:
    """The references, in order."""
    found: list[str] = []
    if wanted.refund is not None:
        found.append((await run.perform(create_refund, wanted.refund)).reference)
    if wanted.mail is not None:
        found.append((await run.perform(send_email, wanted.mail)).reference)
    return found
