"""Refusals around a cluster of Temporal."""

from counterfoil.model.error_code import MISSING, ErrorCode

TEMPORAL = (
    ErrorCode(
        "temporal_search_attribute",
        "The namespace {namespace} of Temporal has no search attribute {name} of type Keyword.",
        "Create it: `temporal operator search-attribute create --namespace {namespace} --name {name} --type Keyword`.",
    ),
    ErrorCode(
        "temporal_namespace",
        "Temporal has no namespace {namespace}.",
        "Name one that exists with COUNTERFOIL_TEMPORAL_NAMESPACE, or create it. Nothing was taken up.",
    ),
    ErrorCode(
        "temporal_unreachable",
        "{what} cannot be found by an activity: it is not the value of a name in a module.",
        "Define it at the top of a module that every worker can import. Nothing of this call was done.",
    ),
    ErrorCode(
        "temporal_reset",
        "Run {run_id} was reset to something else: {problem}.",
        "Nothing new was done. Reset it to code that asks for the same, or submit a request of its own.",
    ),
    ErrorCode(
        "not_on_temporal",
        "{what} is not there in a workflow on Temporal.",
        "Use the embedded engine for this workflow. Nothing of this call was done.",
    ),
    ErrorCode(
        "temporal_key",
        "A payload of Temporal cannot be read with the key {key}.",
        "Give the codec every key under which something is still kept. Nothing was changed.",
    ),
    ErrorCode(
        "temporal_down",
        "Temporal cannot be reached at {address}: {problem}.",
        "Start it, or name another with COUNTERFOIL_TEMPORAL_ADDRESS. What the ledger holds stays as it is.",
        MISSING,
    ),
)
