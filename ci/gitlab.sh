#!/usr/bin/env bash
# Prepares a GitLab job whose image has Java: Python, an environment with the harness, and the folders of its caches. Source this file.
set -eo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! python3 -m venv --help >/dev/null 2>&1 || ! command -v git >/dev/null; then
    apt-get update -qq && apt-get install -qq -y git python3-venv >/dev/null
fi
[ -d .venv ] || python3 -m venv .venv
export PATH=$PWD/.venv/bin:$PATH
. "$here/environment.sh"
"$here/install.sh"
