"""The standard output of a process that gives answers there."""

import os
from typing import TextIO


def private_stdout() -> TextIO:
    """Keep standard output for answers. Engines and their child processes get standard error in its place."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
