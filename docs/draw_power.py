"""Write the tables of power from what was measured: python docs/draw_power.py [PAGE]

The measurements are docs/power.json, docs/power-quick.json and docs/power-upgrade.json. PAGE is docs/power.md if nothing is said.
"""

import sys
from pathlib import Path

from conformance.selftest.power import read_powers
from reports.words import some

HERE = Path(__file__).parent

HEAD = """\
# Power

This page says which seeded bugs a run would catch.
Every bug is a mutant of the executable specification.
The mutant runs on the suite that an engine is given in a run, and the run's own guarantees judge what it answers.
A relation counts if the changes that it is about break it, without the other changes of a case.
A bug counts where a case of the suite shows it.
An upgrade also shows each case whose output differs between the releases, whether a guarantee minds it or not; that is not counted here.
`docs/draw_power.py` writes this page; the page of a run of all scenarios has the same figures.
"""

KINDS = {
    "power.json": ("A full run", "--as all --seed 1"),
    "power-quick.json": ("A quick run", "--as ENGINE --quick --seed 1"),
    "power-upgrade.json": ("Either release in an upgrade", "--as ENGINE --upgrade --seed 1"),
}
"""File -> what runs the file is about, and the options of ``conformance selftest`` that measure them."""

NAMED = 8
"""How many of many missed bugs of an engine are named; the files have all."""


def page():
    """The text of the page."""
    parts = [HEAD]
    for name, (title, options) in KINDS.items():
        powers = read_powers(HERE / name)
        if not powers:
            continue
        asked = powers[0].asked
        parts += [f"## {title}", "", f"    conformance selftest {options} --json docs/{name}", ""]
        parts += [f"{asked.wanted} cases of each program on each timeline, seed {asked.seed}.", ""]
        parts += [
            "| engine | cases, in packs | bugs caught, of those that it could show | missed |",
            "|---|--:|--:|---|",
        ]
        for power in sorted(powers, key=lambda power: (":" in power.engine, -len(power.caught) / power.visible)):
            caught = f"{len(power.caught)} of {power.visible}"
            missed = some(power.missed, NAMED)
            parts.append(f"| `{power.engine}` | {power.cases} in {power.packs} | {caught} | {missed} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else HERE / "power.md"
    target.write_text(page(), encoding="utf-8")
    print(f"wrote {target}")
