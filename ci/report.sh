#!/usr/bin/env bash
# After run.sh, whatever it ended with: annotations, the page of the job, and the comment on the request.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${INPUT_OUT:-build/conformance}
mkdir -p "$out"
python3 "$here/annotate.py" "$out" "${INPUT_EXPECTATIONS:-expectations.toml}" "${INPUT_UPGRADE_TO_LOCK:-}"
python3 "$here/summarize.py" "$out"
python3 "$here/comment.py" "$out"
