"""Draw the README's picture of the matrix from a run: python docs/draw_matrix.py [PAGE [PICTURE]]

PAGE is build/conformance/matrix.html if nothing is said, PICTURE build/matrix.png; `docs/matrix.png` is the README's.
The script needs Playwright and a Chromium. `tox -e browser` has them, and runs the script after the tests, so CI draws
the picture anew.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from chromium import launch

WIDTH, HEIGHT = 1280, 900


def draw(page: Path, picture: Path) -> None:
    """Open the page without a network and save the window that begins at the matrix."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        tab = browser.new_context(offline=True, viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        tab.goto(page.resolve().as_uri())
        tab.screenshot(path=str(picture))
        browser.close()


if __name__ == "__main__":
    places = [*sys.argv[1:], *("build/conformance/matrix.html", "build/matrix.png")[len(sys.argv) - 1 :]]
    page, picture = map(Path, places)
    if page.exists():
        draw(page, picture)
        print(f"drew {picture}")
    else:
        print(f"no picture drawn: there is no {page}; run `tox -e conformance` first")
