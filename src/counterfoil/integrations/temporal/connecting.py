"""The client of Temporal that the settings name."""

from temporalio.client import Client

from counterfoil import settings
from counterfoil.app import App
from counterfoil.integrations.temporal.plugin import CounterfoilPlugin
from counterfoil.model.errors import CounterfoilError


async def connected(app: App) -> Client:
    """Connected to COUNTERFOIL_TEMPORAL_ADDRESS, with our plugin. Raises CounterfoilError(temporal_down)."""
    address = settings.value_of("COUNTERFOIL_TEMPORAL_ADDRESS")
    namespace = settings.value_of("COUNTERFOIL_TEMPORAL_NAMESPACE")
    try:
        return await Client.connect(address, namespace=namespace, plugins=[CounterfoilPlugin(app)])
    except RuntimeError as problem:  # what the SDK's transport raises
        raise CounterfoilError("temporal_down", address=address, problem=str(problem)) from problem


def queue() -> str:
    """The queue that the settings name."""
    return settings.value_of("COUNTERFOIL_TEMPORAL_QUEUE")
