"""Large bytes by digest."""

from pydantic import BaseModel


class Artifact(BaseModel, frozen=True):
    """A reference to kept bytes. `digest` is sha256:<hex>, `size` in bytes."""

    name: str
    digest: str
    size: int
