"""What is played when the refund is drilled: `counterfoil drill counterfoil.examples.refund.app:refund`."""

from dataclasses import replace

from counterfoil.drills.scenario import Scenario

LETTER = "The parcel came broken. Please refund the amount {} of what I paid."

refund = Scenario(
    workflow="refund",
    input={"request_number": "R-1001", "charge": "ch_drilled", "letter": LETTER.format(1200)},
    other_input={"request_number": "R-1001", "charge": "ch_drilled", "letter": LETTER.format(1500)},
    sandboxes={"stripe": "A"},  # keeps keys as the payment provider documents it: the stored answer, errors too
)
# The same without a ledger: `counterfoil drill counterfoil.examples.refund.naive:naive_refund` must fail.
naive = replace(refund, workflow="naive_refund")
