"""Control flow that user code must not swallow. None of it is an Exception."""


class Suspended(BaseException):
    """This execution is closed. Every later call of the run raises it again and writes nothing."""


class Diverged(BaseException):
    """The code asks for something else than the record holds at this position."""

    def __init__(self, position: str, recorded: str, asked: str) -> None:
        super().__init__(f"{position}: {recorded} is recorded, {asked} is asked")
        self.position = position
        self.recorded = recorded
        self.asked = asked
