"""Reads a document by the kind its name says, as a user's own module would."""


def text_of(name: str, content: bytes) -> str:
    return f"{name}: {content.decode()}"
