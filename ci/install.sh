#!/usr/bin/env bash
# Installs the harness from the checkout that this script is in, with the frameworks that the job needs beside it.
# An upgrade needs none: each release gets an environment of its own. So does an engine with a release, ID@VERSION.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

spark='' beam=''
if [ -z "${INPUT_UPGRADE_TO_LOCK:-}" ]; then
    # shellcheck disable=SC2086  # names of engines, separated by blanks
    for engine in ${INPUT_ENGINE:-spark-all beam-all}; do
        case $engine in
            *@*) ;;
            spark-*) spark=spark ;;
            beam-*) beam=beam ;;
        esac
    done
fi
extras=$spark${spark:+${beam:+,}}$beam
python3 -m pip install --quiet "$source${extras:+[$extras]}"
