"""The terminal: progress while a run works, the summary at its end, lists, and replays."""

from __future__ import annotations

import threading
import time
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from conformance.confirmation.replay import STILL_FAILS
from conformance.judgement.cell import Folded, Verdict
from conformance.model.engine import bare
from conformance.reports.text.likeness import compared_ports, difference_lines
from conformance.reports.text.screen import say
from conformance.reports.words import (
    BARS,
    STRENGTH_LEGEND,
    SYMBOLS,
    amount,
    claim,
    mark,
    replayed,
    shown,
    standings,
    strengths,
)
from conformance.results.record import LEFT_OUT
from conformance.results.results import Results
from conformance.run.events import (
    BatchBegun,
    CellDone,
    Confirming,
    EngineDone,
    Event,
    PackDone,
    RunStarted,
    TakingApart,
    Unusable,
    WitnessUnknown,
)

COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.VIOLATED: "red",
    Verdict.UNSUPPORTED: "bright_black",
    Verdict.UNKNOWN: "yellow",
    Verdict.ERROR: "magenta",
}


MINUTE = 60.0
"""Seconds between two lines of progress where there is no terminal."""


class Live:
    """Progress of a run: a bar per engine, with an estimate, on a terminal; a line a minute elsewhere. Call it with the
    run's events.

    It says one line for each engine, one for all variants of an engine together, and with ``verbose`` what an engine
    begins, each witness that is not replayed and each cell in error. The bars go away at the end. On a terminal they
    stand for the lines, unless ``verbose``. Bars and lines begin with the first packs: a process that has a thread
    cannot draw cases in several.
    """

    def __init__(self, console: Console, verbose: bool = True, every: float = MINUTE) -> None:
        self._console, self._verbose, self._every = console, verbose, every
        self._ended, self._telling = threading.Event(), threading.Lock()
        self._teller: threading.Thread | None = None
        self._unknown = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("packs"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._variants: dict[str, list[float]] = {}
        self._bars: dict[str, TaskID] = {}
        self._apart = Counter[str]()
        self._confirmed: dict[str, int] = {}
        self._over: set[str] = set()
        self._begun = 0.0

    def __enter__(self) -> Live:
        self._begun = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._teller:
            self._teller.join()
        self._progress.stop()
        for name, seconds in self._variants.items():
            self._say(f"{name}: {amount(len(seconds), 'variant')} done in {sum(seconds):.0f} s")
        if self._unknown and not self._verbose:
            self._say(f"{amount(self._unknown, 'stored witness', 'es')} not replayed: no such guarantee is known")

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._say(f"{amount(event.cases, 'case')} on {amount(event.timelines, 'timeline')}")
        elif isinstance(event, Unusable):
            self._say(event.line)
        elif isinstance(event, WitnessUnknown):
            self._unknown += 1
            about = f"{event.scenario}/{event.guarantee} of the program {event.program}"
            self._detail(f"stored witness {event.witness} is not replayed: no guarantee {about} is known")
        elif isinstance(event, BatchBegun):
            self._tell()
            total = event.packs * event.batches
            if event.engine not in self._bars:
                self._bars[event.engine] = self._progress.add_task(event.engine, total=total)
                self._detail(f"{event.engine}: up")
            of = f"batch {event.batch + 1} of {event.batches}: " if event.batches > 1 else ""
            self._detail(f"{event.engine}: {of}{amount(event.packs, 'pack')} to run")
        elif isinstance(event, PackDone):
            self._progress.advance(self._bars[event.engine])
        elif isinstance(event, TakingApart):
            self._apart[event.engine] += event.runs
        elif isinstance(event, Confirming) and event.cells:
            self._confirmed[event.engine] = event.cells
            self._detail(f"{event.engine}: reducing and confirming the failing cases of {amount(event.cells, 'cell')}")
        elif isinstance(event, EngineDone):
            self._done(event)
        elif isinstance(event, CellDone) and event.cell.verdict is Verdict.ERROR:
            self._detail(f"{event.cell.engine}: {event.cell.guarantee}: {event.cell.reason}")

    def _tell(self) -> None:
        """Begins to tell how far the run is, unless that was begun."""
        with self._telling:  # engines run in threads
            self._progress.start()
            if self._teller is None and not self._console.is_terminal:
                self._teller = threading.Thread(target=self._each_minute, daemon=True)
                self._teller.start()

    def _each_minute(self) -> None:
        while not self._ended.wait(self._every):
            self._say(
                f"{(time.monotonic() - self._begun) / MINUTE:.0f} min: "
                f"{', '.join(self._under_way()) or 'waiting for an engine to start'}"
            )

    def _under_way(self) -> list[str]:
        """How far each engine is that runs."""
        found = []
        for task in self._progress.tasks:
            name, packs = task.description, f"{task.completed:.0f} of {amount(int(task.total or 0), 'pack')}"
            if name in self._over:
                continue
            if name in self._apart:
                packs = f"{amount(self._apart[name], 'engine run')} to take failures apart"
            if name in self._confirmed:
                packs = f"confirming {amount(self._confirmed[name], 'violated cell')}"
            found.append(f"{name} {packs}")
        return found

    def _done(self, event: EngineDone) -> None:
        self._over.add(event.engine)
        if event.failure == LEFT_OUT:  # the end of the run counts these
            self._detail(f"{event.engine}: {event.failure}")
        elif not event.available:
            self._say(f"{event.engine}: cannot run: {event.failure}")
        elif event.failure:
            self._say(f"{event.engine}: failed: {event.failure}")
        elif self._verbose or not self._console.is_terminal:
            name, _, variant = bare(event.engine).partition(":")
            if variant and not self._verbose:
                self._variants.setdefault(name, []).append(event.seconds)
            else:
                self._say(f"{event.engine}: done in {event.seconds:.0f} s")

    def _detail(self, text: str) -> None:
        if self._verbose:
            self._say(text)

    def _say(self, text: str) -> None:
        say(self._console, text)


def summary(results: Results, console: Console) -> None:
    """The matrix as a table, then a line with the reason for every verdict other than "holds". An engine that was given
    up has one line for all that it did not answer."""
    folded = results.folded()
    given_up = dict(results.not_run)
    table = Table(title="Which guarantee holds where", title_justify="left", show_lines=False)
    table.add_column("guarantee", overflow="fold")
    columns = results.columns
    short = len(columns) > 6  # then a symbol has to do
    for column in columns:
        table.add_column(column.replace("-", "-\n") if short else column, no_wrap=True)
    for scenario, texts in results.scenarios.items():
        rows = [row for row in folded if row[0] == scenario]
        if rows:
            table.add_section()
            table.add_row(f"[bold]{escape(texts.name)}[/bold]")
        for row in rows:
            cells = [[folded[row][e] for e in engines if e in folded[row]] for engines in columns.values()]
            words = ("\n".join(_verdict(cell, short) for cell in found) for found in cells)
            table.add_row("  " + escape(claim(results, row)), *words)
    console.print(table)
    say(console, f"✓ {STRENGTH_LEGEND}; ◐ holds, and a promised perturbation was not exercised")
    for row, by_engine in folded.items():
        for engine, cell in by_engine.items():
            given_up_there = engine in given_up and cell.reason.endswith(given_up[engine])
            if cell.verdict is Verdict.UNKNOWN and given_up_there:
                continue
            if cell.verdict in (Verdict.VIOLATED, Verdict.ERROR, Verdict.UNKNOWN):
                where = f" [{cell.witness}]" if cell.witness else ""
                told = f"{SYMBOLS[cell.verdict]} {engine}: {claim(results, row)}: {cell.reason}{where}"
                say(console, told, COLOURS[cell.verdict])
    for (engine, reason), number in Counter(
        (engine, cell.reason)
        for by_engine in folded.values()
        for engine, cell in by_engine.items()
        if cell.verdict is Verdict.UNSUPPORTED
    ).items():
        symbol, colour = SYMBOLS[Verdict.UNSUPPORTED], COLOURS[Verdict.UNSUPPORTED]
        say(console, f"{symbol} {engine}: {number} unsupported: {reason}", colour)
    for line in replayed(results, STILL_FAILS):
        say(console, line)
    for engine in results.engines:
        mine = [by_engine[engine] for by_engine in folded.values() if engine in by_engine]
        strong = ", ".join(f"{BARS[strength]} {number}" for strength, number in strengths(mine).items() if number)
        numbers = {word.replace("-", " "): number for word, number in standings(mine).items() if number}
        said = [f"{n} {word}" + (f" ({strong})" if word == "holds" else "") for word, n in numbers.items()]
        record = results.environment[engine]
        packs = f"{record.packs.run} of {amount(record.packs.drawn, 'pack')} run"
        say(console, f"{engine}: {', '.join(said)}; {', '.join(filter(None, [packs, record.age]))}")
    for engine, why in given_up.items():
        say(console, f"{engine} did not run to its end: {why}", "yellow")
    if results.shortened:
        say(console, f"Not a full run: {'; '.join(results.shortened)}.", "yellow")
    for sentence, agreement in compared_ports(results):
        alike = not agreement.smallest
        # Show the outputs if two sides of a port differ. The page has the reference's output.
        shows = not alike and not agreement.with_reference
        say(console, sentence + "; smallest:" * shows, "green" if alike else "red")
        for line in difference_lines(agreement) if shows else ():
            say(console, f"    {line}")


def _verdict(row: Folded, short: bool) -> str:
    return f"[{COLOURS[row.verdict]}]{mark(row) if short else shown(row)}[/]"
