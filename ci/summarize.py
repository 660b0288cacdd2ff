"""Puts the summaries of a CI job together: for the page of the job, and into OUT/comment.md for a comment.

python summarize.py OUT
"""

import os
import sys
from pathlib import Path

PAGE, COMMENT = 900_000, 60_000
"""Number of characters that services take for the page of a job, and for a comment."""

CUT = "\n\n… cut here: the whole summary is among the artifacts of the job.\n"


def main(out):
    out = Path(out)
    files = [out / "gate.md", out / "summary.md", *sorted(out.glob("*/summary.md"))]
    text = "\n\n".join(path.read_text(encoding="utf-8").strip() for path in files if path.is_file()) or without(out)
    (out / "comment.md").write_text(cut(text, COMMENT) + "\n", encoding="utf-8")
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page:
        with open(page, "a", encoding="utf-8") as file:
            file.write(cut(text, PAGE) + "\n")
    else:
        print(text)


def without(out):
    """What to say where the harness left no summary: the end of its output."""
    log = out / "ci.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    end = "\n".join(f"    {line}" for line in lines[-10:])
    return f"# conformance\n\n{end}" if end.strip() else "# conformance\n\nThe harness did not run."


def cut(text, most):
    """A text of at most so many characters, cut at the end of a line."""
    return text if len(text) <= most else text[: most - len(CUT)].rpartition("\n")[0] + CUT


if __name__ == "__main__":
    main(*sys.argv[1:])
