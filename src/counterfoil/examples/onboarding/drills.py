"""What is played when the onboarding case is drilled: `counterfoil drill counterfoil.examples.onboarding.app:onboard`."""

from counterfoil.drills.scenario import Scenario
from counterfoil.examples.onboarding.documents import SAMPLE_FOLDERS


def _at_a_crm(kind: str) -> Scenario:
    def folder(customer: str) -> dict[str, str]:
        return {"customer": customer, "path": str(SAMPLE_FOLDERS / "acme"), "crm": kind}

    return Scenario(
        workflow="onboard",
        name=kind,
        input=folder("acme"),
        other_input=folder("other"),
        sandboxes={"crm": kind},
    )


# Each offers something else to who must ask again: a key, a lookup, nothing. At the last one a doubt is a person's.
scenarios = (_at_a_crm("key"), _at_a_crm("lookup"), _at_a_crm("none"))
