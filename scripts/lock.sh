#!/bin/sh
# Resolves the dependencies of pyproject.toml anew and writes requirements/dev.lock. For maintainers; PYTHON is the oldest that is supported.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${1:-python3.11}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check ".[dev]"
"$work/venv/bin/pip" freeze -q --disable-pip-version-check --exclude tickgate >"$work/lock"
mv "$work/lock" requirements/dev.lock
