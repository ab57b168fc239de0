"""Two-step receivers: the first request prepares and has no effect, the second confirms and has it once."""

from dataclasses import replace

from counterfoil.testing.loopback.exchange import Reply, error_reply
from counterfoil.testing.sandbox.writes import Write


class PreparedSteps:
    """What has been prepared, by id. Lives in memory only: what was never confirmed has no effect to lose."""

    def __init__(self) -> None:
        self._prepared: dict[str, Write] = {}

    def take(self, write: Write) -> Write | Reply:
        """The reply to a first step, or the write with an effect that a second step asks for."""
        above, _, last = write.path.rpartition("/")
        if last != "confirm":
            token = f"prepared-{len(self._prepared) + 1}"
            self._prepared[token] = write
            return Reply(201, {"id": token, "status": "prepared"})
        path, _, token = above.rpartition("/")
        prepared = self._prepared.get(token)
        if prepared is None or prepared.path != path:
            return error_reply(404, "not_prepared", f"nothing is prepared as {token}")
        return replace(
            prepared,
            path=f"{path}/{token}",
            object_id=token,
            key=write.key,
            reference=write.reference or prepared.reference,
        )
