"""What a user declares and reads: a document of the working context, and one version of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from counterfoil.model.document import DocumentScope
from counterfoil.model.errors import DocumentMoved

if TYPE_CHECKING:
    from counterfoil.engine.port import Run

D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class DocumentVersion(Generic[D]):
    """One version of a document, as it was read or written. `version` 0: nobody has written it yet, `value` is the default."""

    value: D
    version: int
    document_id: str


@dataclass(frozen=True)
class Document(Generic[D]):
    """Declared by `app.document`. Knowledge for reasoning, and never a source of truth about the outside world.

    `setting` names the conversation's setting that holds the key of a document in the scope `key`; `bound` is a key that
    the code has given instead.
    """

    name: str
    type: type[D]
    scope: DocumentScope
    default: D
    setting: str | None = None
    bound: str | None = None

    def of(self, key: str) -> "Document[D]":
        """The same document under this key: a customer's, say. Only in the scope `key`."""
        if self.scope is not DocumentScope.KEY:
            raise ValueError(f"the document {self.name} has the scope {self.scope}, and no key")
        return replace(self, bound=key)

    async def change(self, run: "Run", change: Callable[[D], D]) -> DocumentVersion[D]:
        """Write what `change` makes of the newest version; read anew, and changed again, where another run was faster.

        `change` may be called several times, and at every replay: it only makes the new value.
        """
        while True:
            seen = await run.document(self)
            try:
                return await run.document(self, change(seen.value), after=seen)
            except DocumentMoved:
                continue
