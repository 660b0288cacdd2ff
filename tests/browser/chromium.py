"""The browser that the tests of the page drive: a Chromium of this machine, or Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""A page from ``file://`` needs no sandbox from itself, and a browser that tests drive no network of its own."""


@cache
def installed(playwright: Any) -> str | None:
    """Where a Chromium is: named by CHROMIUM, on the PATH, else what Playwright or Debian's packages install now; None
    where none of these can be had."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, check=False)
    own: str = playwright.chromium.executable_path
    if os.path.exists(own):
        return own
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "chromium"]):
            subprocess.run(command, capture_output=True, check=False)
    return shutil.which("chromium")


def launch(playwright: Any) -> Any:
    """A headless browser.

    Raises:
        RuntimeError: there is none, and none could be installed.
    """
    path = installed(playwright)
    if path is None:
        raise RuntimeError("no Chromium: install one and put it on the PATH, or name it in CHROMIUM")
    return playwright.chromium.launch(executable_path=path, args=QUIET)
