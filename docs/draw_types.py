"""Write the table of types from the results of a run: python docs/draw_types.py RESULTS [PAGE]

RESULTS is a results.json of a run of the scenarios about typed state, PAGE docs/types.md if nothing is said. Each word of the table is the
verdict of a cell; what a violated cell says decides between the words.
"""

import sys
from pathlib import Path

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.results.results import Results

HEAD = """\
# Types

This page says what becomes of a value that a program writes into a typed state cell.
`docs/draw_types.py` writes it from the results of a run: each word is the verdict of a cell.

| word | meaning |
|---|---|
| ✓ | Every value came back equal and of its type; what does not fit was refused or kept as it was written. |
| (✓) | As above, and a perturbation that the guarantee promises was not exercised. |
| refused | The engine refuses a value that fits. |
| changed | Another value or another type came back. |
| stored | A value that does not fit was taken. |
| unreadable | The value was taken, and a read of it fails. |
| ? | Not decided: no answer, or the question did not come up. |
| – | The engine or its adapter cannot express the question. |
"""

WORDS = ((" refuses ", "refused"), (" is refused: ", "refused"), ("cannot be read", "unreadable"), ("stored", "stored"))


def word(row):
    """What the table says of a row of the matrix."""
    if row.verdict is Verdict.HOLDS:
        return "(✓)" if row.in_part else "✓"
    if row.verdict is Verdict.VIOLATED:
        found = next((said for sign, said in WORDS if sign in row.reason), "")
        return found or ("stored" if "not refused" in row.reason else "changed")
    return "–" if row.verdict is Verdict.UNSUPPORTED else "?"


def _versions(engine, versions):
    known = ", ".join(f"{name} {number}" for name, number in versions.items() if "." not in name and name != "options")
    return f"`{engine}`: {known}"


def page(results):
    """The text of the page."""
    folded, engines = results.folded(), [name for name in results.engines if name != "reference"]
    versions = [_versions(name, results.environment[name].versions) for name in engines]
    parts = [HEAD, *(f"- {version}" for version in versions)]
    for scenario in load_scenarios():
        for name, program in scenario.programs.items():
            asked = {g.claim: folded.get((scenario.id, g.id), {}) for g in scenario.guarantees if g.program == name}
            if not program.types or not any(asked.values()):
                continue
            parts += ["", f"## {scenario.name.capitalize()}: {name}", ""]
            parts.append("| guarantee | " + " | ".join(f"`{engine}`" for engine in engines) + " |")
            parts.append("|---|" + "---|" * len(engines))
            for claim, row in asked.items():
                words = " | ".join(word(row[engine]) if engine in row else "–" for engine in engines)
                parts.append(f"| {claim} | {words} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    source, *place = sys.argv[1:]
    target = Path(place[0]) if place else Path(__file__).parent / "types.md"
    target.write_text(page(Results.read(Path(source))), encoding="utf-8")
    print(f"wrote {target}")
