"""The files of witnesses on the page: tests to paste, that need an engine's framework alone."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from conformance.comparison.exported import exported
from conformance.model.export import CannotExport
from conformance.model.scenario import Scenario
from conformance.plugins.points import InvalidPlugin
from conformance.plugins.registry import UnknownName, load_scenarios
from conformance.reports.page.pages import Parts, raw
from conformance.results.witness import Witness, of_scenario, projects_folder

FORMAT = "pytest"

LONGEST = 30_000
"""The most characters of a file that stands on the page."""

MOST_PACKED = 300_000
"""The most bytes of all files of a page, compressed."""


@dataclass(frozen=True)
class Export:
    """A witness's file. ``part`` is its place among the page's parts; None where it is not on the page: then ``why``
    says why no file shows the witness, or ``command`` writes the file."""

    name: str
    lines: int = 0
    part: int | None = None
    why: str = ""
    command: str = ""


def exports(witnesses: Iterable[Witness], parts: Parts, again: Iterable[Witness] = ()) -> dict[str, Export]:
    """Witness (id) -> its file. The files are parts side by side, since they have much in common. A plain page has none
    of them, and no page has those of ``again``: witnesses of which another engine's stand on the page."""
    try:
        scenarios = load_scenarios()
    except (UnknownName, InvalidPlugin):
        scenarios = []
    found: dict[str, Export] = {}
    witnesses = [*witnesses]
    room, packer = MOST_PACKED, zlib.compressobj(9)
    shown = {witness.id: witness for witness in witnesses}
    for witness in ({witness.id: witness for witness in again} | shown).values():
        name, text, why = _file(witness, scenarios, witnesses)
        if why:
            found[witness.id] = Export(name, why=why)
            continue
        if witness.id in shown:
            room -= len(packer.compress(text.encode())) + len(packer.flush(zlib.Z_SYNC_FLUSH))
        there = witness.id in shown and not parts.plain and len(text) <= LONGEST and room > 0
        part = parts.add(f'<pre class="file" tabindex=0 data-name="{name}">{raw(text)}</pre>') if there else None
        command = "" if there else f"conformance replay {witness.id} --export {FORMAT}"
        found[witness.id] = Export(name, text.count("\n"), part, command=command)
    return found


def _file(witness: Witness, scenarios: list[Scenario], there: list[Witness]) -> tuple[str, str, str]:
    """(name, text, why there is none) of a witness's file. What the page shows on a sibling of its engine comes first,
    then what a stored witness does."""
    others = chain(there, of_scenario(witness.case.scenario, [projects_folder()]))
    name = f"test_witness_{witness.id}.py"
    try:
        return name, exported(witness, scenarios, FORMAT, others), ""
    except CannotExport as error:
        why = re.sub(r"\Awitness \w+: ", "", str(error)).replace(f"witness {witness.id}", "the witness")
        return name, "", why.partition(";")[0]
