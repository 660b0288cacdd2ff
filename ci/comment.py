"""Writes OUT/comment.md as the one comment of this job on a pull or merge request: a later job replaces it.

    python comment.py OUT

GitHub: by ``gh``, with GH_TOKEN. GitLab: by its API, with CONFORMANCE_GITLAB_TOKEN. Without a token, or outside a
request, one line says so. A comment that cannot be written is told and fails nothing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

MARK = "<!-- conformance {} -->"
"""How the comment is found again. Several jobs of a request have a comment each."""


def main(out):
    path = Path(out) / "comment.md"
    mark = MARK.format(os.environ.get("GITHUB_JOB") or os.environ.get("CI_JOB_NAME") or "")
    body = f"{mark}\n{path.read_text(encoding='utf-8')}" if path.is_file() else ""
    try:
        print(_on_gitlab(mark, body) if os.environ.get("GITLAB_CI") else _on_github(mark, body))
    except (subprocess.CalledProcessError, urllib.error.URLError, ValueError) as error:
        print(f"no comment: {getattr(error, 'stderr', '') or error}".strip())


def _on_github(mark, body):
    number, repository = _pull_request(), os.environ.get("GITHUB_REPOSITORY", "")
    lacking = _lacking(body, number, os.environ.get("GH_TOKEN"), "GH_TOKEN")
    if lacking or not shutil.which("gh"):
        return lacking or "no comment: gh is not installed"
    comments = f"repos/{repository}/issues/{number}/comments"
    query = f".[] | select(.body | startswith({json.dumps(mark)})) | .id"
    there = _gh("api", comments, "--paginate", "--jq", query).split()
    if there:
        _gh("api", "--method", "PATCH", f"repos/{repository}/issues/comments/{there[0]}", "--input", "-", given=body)
        return f"comment {there[0]} replaced"
    _gh("api", "--method", "POST", comments, "--input", "-", given=body)
    return f"comment written on {number}"


def _gh(*arguments, given=None):
    data = None if given is None else json.dumps({"body": given})
    return subprocess.run(["gh", *arguments], input=data, capture_output=True, text=True, check=True).stdout


def _pull_request():
    """The number of the pull request, "" outside one."""
    found = re.fullmatch(r"refs/pull/(\d+)/\w+", os.environ.get("GITHUB_REF", ""))
    return found[1] if found else ""


def _on_gitlab(mark, body):
    number, token = os.environ.get("CI_MERGE_REQUEST_IID", ""), os.environ.get("CONFORMANCE_GITLAB_TOKEN", "")
    if lacking := _lacking(body, number, token, "CONFORMANCE_GITLAB_TOKEN"):
        return lacking
    project = f"{os.environ['CI_API_V4_URL']}/projects/{os.environ['CI_PROJECT_ID']}"
    notes = f"{project}/merge_requests/{number}/notes"
    there = [note["id"] for note in _asked("GET", f"{notes}?per_page=100", token) if note["body"].startswith(mark)]
    if there:
        _asked("PUT", f"{notes}/{there[0]}", token, {"body": body})
        return f"comment {there[0]} replaced"
    _asked("POST", notes, token, {"body": body})
    return f"comment written on {number}"


def _asked(method, address, token, data=None):
    headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
    content = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(address, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _lacking(body, number, token, name):
    if not body:
        return "no comment: there is no summary"
    if not number:
        return "no comment: this is no pull or merge request"
    return "" if token else f"no comment: {name} is not set"


if __name__ == "__main__":
    main(*sys.argv[1:])
