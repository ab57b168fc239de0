"""What one signed-in person may read and do, asked anew for every call."""

from typing import TYPE_CHECKING

from counterfoil.app.access.actor import Actor

if TYPE_CHECKING:
    from counterfoil.app.application import App


class Sight:
    """Given to every noun of a desk."""

    def __init__(self, app: "App", actor: Actor) -> None:
        self.app = app
        self.actor = actor
