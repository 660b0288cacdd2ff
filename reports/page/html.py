"""matrix.html: guarantees against engines, one self-contained page that needs no network.

With several runs (of several versions of an engine, oldest first) an engine has a column for each. A small script,
bound to the page by its digest, adds filters. All that the script filters stands in the page, and so do, as text, every
verdict, reason and witness. What is large (pictures, the cases under each perturbation, sources) is packed, and the
script unpacks it; a plain page has nothing packed.
"""

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from conformance.model.engine import bare
from conformance.model.perturbation import BY_ID
from conformance.reports import words
from conformance.reports.advice import known_advice
from conformance.reports.grades import WEAKEST_FIRST
from conformance.reports.grid import Grid
from conformance.reports.page import checkpoints, crashes, overview, picture, plans, sections, subjects, types
from conformance.reports.page.cells import Cells
from conformance.reports.page.exports import exports
from conformance.reports.page.kills import arranged
from conformance.reports.page.leads import Leads
from conformance.reports.page.moves import Moves, known_as
from conformance.reports.page.pages import Parts, framed
from conformance.reports.text import claims as claimed
from conformance.results.report import Report
from conformance.results.results import Results
from conformance.selftest.power import Power
from conformance.selftest.selftest import SelfTest

SCRIPTS = ("query.js", "moves.js", "page.js")

MANY = 6
"""The scenarios of a page are folded at first if there are more than these."""


def render(
    runs: Sequence[Results], kills: SelfTest | None = None, powers: Sequence[Power] = (), plain: bool = False
) -> str:
    """The page of one run, or of several runs side by side, oldest first, with the kill matrix of a self-test and the
    power of runs on its engines, if given. The page shows nothing else. A ``plain`` page has nothing packed: it is
    large, and whole without JavaScript."""
    if len(runs) > 1:
        runs = [run.in_short() for run in runs]
    grid = Grid(runs)
    leads = Leads(grid)
    cells = Cells(grid, leads)
    scenarios, parts = cells.scenarios(), Parts(plain)
    shown = [e.witness for s in scenarios for row in s.rows for e in row.entries if e.witness]
    first, again = ([e.witness for e in shown if (e.same is not None) is same] for same in (False, True))
    return framed(
        "matrix.html.j2",
        SCRIPTS,
        grid=grid,
        runs=list(zip(runs, grid.labels, strict=True)),
        words=words,
        claimed=claimed,
        doings=overview.doings(grid, known_advice()),
        moves=Moves(grid, known_advice()),
        map=overview.squares(grid),
        map_columns=overview.mapped(grid),
        columns=[column for column in grid.columns if not column.native],
        operators={
            s.id: [(n, c) for n, c in enumerate(grid.columns) if c.native and any(row.columns[n] for row in s.rows)]
            for s in scenarios
        },
        exports=exports(first, parts, again),
        grades=WEAKEST_FIRST,
        scenarios=scenarios,
        many=MANY,
        leads=leads,
        cells=cells,
        lacks=list(cells.lacks),
        titled={name: record.title for run in runs for name, record in run.environment.items() if record.title},
        named={
            name: known_as(record.title, record.framework[0] if record.framework else "")
            for run in runs
            for name, record in run.environment.items()
        },
        parts=parts,
        titles={name: BY_ID[name].title for name in grid.perturbations if name in BY_ID},
        subjects=list(subjects.tables(runs[-1])),
        types=list(types.tables(grid)),
        plans=plans.view(grid),
        crashes=crashes.lines(grid),
        crash_points=crashes.WORDS,
        type_words=types.WORDS,
        checkpoints=checkpoints.tables(bare(name) for run in runs for name in run.engines),
        engines=sections.engines(grid, powers),
        claims=sections.claims(grid),
        stability=sections.stability(grid),
        agreement=sections.AgreementShown(runs[-1]),
        kills=arranged(kills) if kills else None,
        legend=Markup(picture.legend()),
    )


REPORT = Report(render, "matrix.html")

PLAIN = Report(partial(render, plain=True))
