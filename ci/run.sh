#!/usr/bin/env bash
# Runs the harness as the inputs of a CI job ask: a run, a shard of one, the merge of shards, or an upgrade between two lock files.
# Reads INPUT_ENGINE, INPUT_UPGRADE_FROM_LOCK, INPUT_UPGRADE_TO_LOCK, INPUT_CASES, INPUT_BUDGET, INPUT_SHARD, INPUT_MERGE,
# INPUT_BASELINE, INPUT_EXPECTATIONS, INPUT_SEED and INPUT_OUT; an empty one counts as not given. Leaves everything in INPUT_OUT.
# The exit code is the harness's.
set -euo pipefail

out=${INPUT_OUT:-build/conformance}
mkdir -p "$out"
log=$out/ci.log
: >"$log"

refuse() { echo "Error: $1" | tee -a "$log" >&2; exit 2; }

# The harness's output goes to the job's log and into a file, from which annotate.py takes what was refused.
say() { local code=0; "$@" 2>&1 | tee -a "$log" || code=${PIPESTATUS[0]}; return "$code"; }

# A file as it is, or REVISION:PATH of the repository, such as origin/main:uv.lock. Prints the path of the file.
lock_file() {
    local given=$1 revision=${1%%:*} path=${1#*:} found
    if [ -f "$given" ] || [ "$revision" = "$given" ]; then echo "$given"; return; fi
    found=$out/from/$(basename "$path")
    mkdir -p "$out/from"
    if ! git show "$revision:$path" >"$found" 2>/dev/null; then
        git fetch --quiet --depth=1 origin "${revision#origin/}" && git show "FETCH_HEAD:$path" >"$found" ||
            refuse "cannot read $path of $revision"
    fi
    echo "$found"
}

from=${INPUT_UPGRADE_FROM_LOCK:-} to=${INPUT_UPGRADE_TO_LOCK:-} shard=${INPUT_SHARD:-} budget=${INPUT_BUDGET:-}
merge=${INPUT_MERGE:-} baseline=${INPUT_BASELINE:-}
[ -n "$from" ] && [ -z "$to" ] && refuse "upgrade-from-lock needs upgrade-to-lock"
[ -n "$to" ] && [ -z "$from" ] && refuse "upgrade-to-lock needs upgrade-from-lock"
[ -n "$to" ] && [ -n "$shard$budget$merge$baseline" ] && refuse "an upgrade takes no shard, budget, merge or baseline"
[ -n "$shard" ] && [ -n "$budget$merge$baseline" ] && refuse "a shard takes no budget, merge or baseline"

options=(--out "$out")
asked=(--seed "${INPUT_SEED:-1}")
for engine in ${INPUT_ENGINE:-}; do asked+=(--engine "$engine"); done  # names, separated by blanks
[ -n "${INPUT_CASES:-}" ] && asked+=(--cases "$INPUT_CASES")
accepted=()
[ -n "${INPUT_EXPECTATIONS:-}" ] && [ -f "$INPUT_EXPECTATIONS" ] && accepted=(--expectations "$INPUT_EXPECTATIONS")

code=0
if [ -n "$to" ]; then
    old=$(lock_file "$from")
    say conformance upgrade --from-lock "$old" "$to" "${asked[@]}" "${accepted[@]}" "${options[@]}" || code=$?
elif [ -n "$merge" ]; then
    [ -d "$merge" ] || refuse "merge: there is no folder $merge"
    say conformance merge "$merge"/*/ "${options[@]}" || code=$?
else
    [ -n "$shard" ] && asked+=(--shard "$shard")
    [ -n "$budget" ] && asked+=(--budget "$budget")
    say conformance run "${asked[@]}" "${options[@]}" || code=$?
fi
if [ -n "$baseline" ] && [ "$code" = 0 ]; then
    say conformance gate "$out/results.json.gz" --baseline "$baseline" "${accepted[@]}" \
        --junit "$out/gate.xml" --markdown "$out/gate.md" || code=$?
fi
conformance cache --prune --days 30 --megabytes 2000 >/dev/null || true
if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "artifact=conformance${shard:+-shard-${shard%%/*}}" >>"$GITHUB_OUTPUT"; fi
exit "$code"
