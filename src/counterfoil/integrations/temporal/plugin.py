"""What a client and a worker of Temporal are given: our workflows, our activities, and the ledger beside them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from temporalio.common import VersioningBehavior
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec
from temporalio.plugin import SimplePlugin
from temporalio.worker import Worker, WorkerConfig, WorkerDeploymentConfig

from counterfoil.app import App
from counterfoil.app.duties.beside import duties_beside
from counterfoil.app.registration import check_owners
from counterfoil.integrations.temporal.activities import Activities
from counterfoil.integrations.temporal.hand import Hand
from counterfoil.integrations.temporal.namespace import check_namespace
from counterfoil.integrations.temporal.workflows import Patience, classes_for
from counterfoil.model.errors import Refused

NAME = "counterfoil"
_BUILT_IN = frozenset({"ledger"})


class CounterfoilPlugin(SimplePlugin):
    """`Client.connect(..., plugins=[CounterfoilPlugin(app)])`; a `Worker` of that client takes it over.

    Every workflow of the application is registered as NAME-vVERSION. Those of durable agents are not: their turns are the
    embedded engine's. `codec` encrypts what Temporal stores. The worker raises Refused before it takes anything up:
    temporal_namespace, temporal_search_attribute, unknown_owner.
    """

    def __init__(self, app: App, *, patience: Patience | None = None, codec: PayloadCodec | None = None) -> None:
        self.app = app
        self._hand: Hand | None = None

        def encoded(given: DataConverter | None) -> DataConverter:
            # What a failure says may quote what is encrypted elsewhere: it is encoded as a payload, and so encrypted too.
            return replace(
                given or DataConverter.default,
                payload_codec=codec,
                failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
            )

        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK's own callables are not typed
            NAME,
            data_converter=encoded if codec is not None else None,
            activities=Activities(app.registry, self._own_hand).all(),
            workflows=classes_for(app.registry, patience or Patience(), without=_BUILT_IN | frozenset(app.agents)),
        )

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """As the SDK does. A worker without a build id would read and hash all code of the process before it starts."""
        configured = super().configure_worker(config)
        # As a plain mapping: the SDK's own type of it is not known wholly.
        known = cast("dict[str, Any]", configured)
        if not any(known.get(name) for name in ("build_id", "deployment_config", "use_worker_versioning")):
            configured["build_id"] = f"{NAME} {self.app.name}"
        deployment: WorkerDeploymentConfig | None = known.get("deployment_config")
        if deployment is not None and deployment.default_versioning_behavior is VersioningBehavior.UNSPECIFIED:
            # A version of ours is a type of its own, which every build that has it executes: a run that waits for weeks is not
            # bound to the build that began it.
            behavior = VersioningBehavior.AUTO_UPGRADE
            configured["deployment_config"] = replace(deployment, default_versioning_behavior=behavior)
        return configured

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
        """The ledger's hand lives as long as the worker, and a little longer: what has begun ends by itself."""
        await check_namespace(worker.client)
        opened = self.app.open()
        check_owners(self.app.registry, opened)
        hand = self._hand = Hand(opened, worker.client)
        beside = asyncio.create_task(hand.run())
        ready = asyncio.create_task(hand.ready.wait())
        await asyncio.wait({beside, ready}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if not beside.done():
                async with duties_beside(self.app):
                    await _as_long_as(beside, worker, next)
        finally:
            ready.cancel()
            hand.stop()
            await beside
            self._hand = None

    def _own_hand(self) -> Hand:
        if self._hand is None:
            raise Refused("usage", problem="an activity of Counterfoil runs only in a worker that has the plugin")
        return self._hand


async def _as_long_as(beside: "asyncio.Task[None]", worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
    """No activity without the ledger's hand: where that ends, its lock is free, and the worker ends with it."""
    polling = asyncio.ensure_future(next(worker))
    try:
        await asyncio.wait({beside, polling}, return_when=asyncio.FIRST_COMPLETED)
        if not polling.done():
            await worker.shutdown()
    except asyncio.CancelledError:
        polling.cancel()
        await asyncio.wait({polling})
        raise
    await polling
