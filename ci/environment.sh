#!/usr/bin/env bash
# Says where environments of releases and kept traces lie, for the later steps of a job and for the service's caches.
# GitHub: writes the variables into $GITHUB_ENV. Elsewhere: source this file.
export CONFORMANCE_CACHE=${CONFORMANCE_CACHE:-${RUNNER_TEMP:-${CI_PROJECT_DIR:-$PWD}}/.conformance/environments}
export CONFORMANCE_TRACES=${CONFORMANCE_TRACES:-${RUNNER_TEMP:-${CI_PROJECT_DIR:-$PWD}}/.conformance/traces}
mkdir -p "$CONFORMANCE_CACHE" "$CONFORMANCE_TRACES"
if [ -n "${GITHUB_ENV:-}" ]; then
    printf '%s\n' "CONFORMANCE_CACHE=$CONFORMANCE_CACHE" "CONFORMANCE_TRACES=$CONFORMANCE_TRACES" >>"$GITHUB_ENV"
fi
