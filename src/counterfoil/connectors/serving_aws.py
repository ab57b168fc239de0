"""AWS services as drills start them: a moto server behind our proxy."""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from counterfoil.connectors import aws
from counterfoil.connectors.serving import OverHttp
from counterfoil.testing.environ import environ_of
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.moto import REGION, MotoServer

with suppress(ImportError):
    import_module("boto3")  # once, before the workers of a drill are forked; where it is missing, the drill is not run

SERVER = "moto server 5.2.5"
ACCOUNT = "123456789012"
# Nothing of this machine's own account is read: no file, and no address at which a cloud's machine learns its role.
PLAIN = {
    "AWS_ACCESS_KEY_ID": "drilled",
    "AWS_SECRET_ACCESS_KEY": "drilled",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
}


class Moto(OverHttp):
    """The server, and our proxy before it. What a drill makes or counts there goes past the proxy."""

    def __init__(self, folder: Path) -> None:
        del folder
        aws.needed()
        self._moto = MotoServer()
        super().__init__(ProxyProcess(self._moto.url))
        self.environ = PLAIN | {"AWS_ENDPOINT_URL": self.url}
        self.begin()

    def begin(self) -> None:
        """Makes at the server what all cases use."""

    def at(self, service: str) -> Any:
        """A client of the server itself."""
        with environ_of(PLAIN | {"AWS_ENDPOINT_URL": self._moto.url}):
            return aws.client(service, REGION)

    def close(self) -> None:
        """End both."""
        super().close()
        self._moto.close()
