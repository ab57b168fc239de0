#!/usr/bin/env bash
# Writes requirements-demo.txt and requirements-dev.txt: exact versions and hashes, for every Python and platform at
# once, naming no registry. Needs uv on the PATH. `scripts/lock.sh --upgrade` takes newer releases.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links "$@"
}
compile "$@" pyproject.toml requirements-dev.in --extra demo --extra console --extra notify --extra otel --output-file requirements-dev.txt
# hatchling, because the project itself is installed without build isolation. Versions follow the larger file.
echo hatchling | compile pyproject.toml - --extra demo --extra console --constraint requirements-dev.txt --output-file requirements-demo.txt
(cd tests/servers/npm && npm install --package-lock-only --silent)
