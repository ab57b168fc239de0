"""A receiver's share of a sweep: so many requests in a minute, whatever one question needs of them."""


class ShareSpent(BaseException):
    """Ends a question in its middle: this minute's requests are used. Not an Exception, so that no lookup swallows it."""


class Share:
    """What is left of one minute's requests at one receiver."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        self.left = requests

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is used."""
        return self.left == self._requests

    def take(self) -> None:
        """One request leaves. Raises ShareSpent."""
        if self.left == 0:
            raise ShareSpent
        self.left -= 1
