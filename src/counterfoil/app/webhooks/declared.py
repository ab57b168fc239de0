"""Whether a declared webhook can protect anything. Asked at the declaration, before any secret is there."""

from datetime import timedelta

from counterfoil.app.webhooks.signatures import SCHEMES
from counterfoil.engine.definitions import Env, SignedBy
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused

LONGEST_TOLERANCE = timedelta(hours=1)


def check_webhook(receiver: str, webhook: SignedBy) -> None:
    """Raises Refused(webhook_unfit): no secret, a value in the place of a reference, an unknown scheme, or no bound in time."""
    problem = None
    if webhook.scheme not in SCHEMES:
        problem = f"the scheme {webhook.scheme!r} is none of {', '.join(SCHEMES)}"
    elif not webhook.secrets:
        problem = "no secret is named, and a message without a signature proves nothing"
    elif not all(isinstance(secret, Env) for secret in webhook.secrets):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's code
        problem = "a secret is a reference, such as Env(NAME), and never the value"
    elif not timedelta(0) < webhook.tolerance <= LONGEST_TOLERANCE:
        problem = f"the tolerance {webhook.tolerance} is not between 0 and {LONGEST_TOLERANCE}"
    if problem is not None:
        raise Refused("webhook_unfit", name=receiver, problem=problem)


def without_secret(opened: Opened) -> list[str]:
    """Receivers whose messages are all refused here, since a secret of theirs is not set, or none has a value."""

    def lacks(webhook: SignedBy) -> bool:
        values = [opened.environ.get(secret.name, secret.default) for secret in webhook.secrets]
        return None in values or not any(values)

    declared = opened.registry.receivers.values()
    return sorted(each.name for each in declared if each.webhook is not None and lacks(each.webhook))
