"""Whether a namespace of Temporal is ready for our workflows: it has the search attribute that names a run of the ledger."""

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from counterfoil.integrations.temporal.identity import SEARCH_ATTRIBUTE
from counterfoil.model.errors import Refused


async def check_namespace(client: Client) -> None:
    """Raises Refused: temporal_namespace (there is none of this name), temporal_search_attribute (it lacks ours)."""
    try:
        answer = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
    except RPCError as problem:
        if problem.status is RPCStatusCode.NOT_FOUND:
            raise Refused("temporal_namespace", namespace=client.namespace) from problem
        raise
    kind = answer.custom_attributes.get(SEARCH_ATTRIBUTE)
    if kind != IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD:
        raise Refused("temporal_search_attribute", namespace=client.namespace, name=SEARCH_ATTRIBUTE)
