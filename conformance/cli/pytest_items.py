"""The items of the pytest plugin: guarantees of scenarios on engines, and subjects. They are imported when the plugin
collects its first file."""

import datetime
from collections.abc import Iterator
from inspect import getsourcefile, unwrap
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.options import seconds_of
from conformance.comparison import expectations
from conformance.comparison.gate import Outcome, listing, rule
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.engine import CannotRun
from conformance.model.scenario import Guarantee, Scenario
from conformance.plugins.loading import ask_for, loaded_modules
from conformance.plugins.points import InvalidPlugin
from conformance.plugins.registry import UnknownName, engine_ids, load_engine, port_engines, users_scenarios
from conformance.reports.witnesses import alone_lines, witness_lines
from conformance.results.baseline import Baseline, Place
from conformance.results.results import RESULTS, Results
from conformance.results.witness import file_of, write_witnesses
from conformance.run.run import Options, Run
from conformance.subjects.found import chosen, subjects_in
from conformance.subjects.processes.process import Told, ask_all
from conformance.subjects.processes.worker import Request
from conformance.subjects.subject import Subject
from conformance.subjects.verdicts import Report
from conformance.subjects.verdicts import Verdict as Said


class NotKept(Exception):
    """A guarantee that an engine breaks. The message says how, with the witness."""


class ScenarioFile(pytest.File):
    """A file with scenarios, and the one run of all of them."""

    _ran: tuple[Results, Baseline] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        for scenario in self._load():
            for engine in self._engines():
                for guarantee in scenario.guarantees:
                    name = f"{scenario.id}/{guarantee.id}[{engine}]"
                    yield CellItem.from_parent(self, name=name, engine=engine, scenario=scenario, guarantee=guarantee)

    def _load(self) -> list[Scenario]:
        ask_for([str(self.path)])
        try:
            return users_scenarios()
        except InvalidPlugin as error:
            raise self.CollectError(str(error)) from None

    def _engines(self) -> list[str]:
        named = self.config.getoption("--conformance-engine")
        ports = port_engines()
        found = []
        for name in named or (["reference", *ports] if ports else engine_ids()):
            try:
                load_engine(name).check()
            except UnknownName as error:
                raise self.CollectError(str(error)) from None
            except CannotRun:
                if named:
                    raise
            else:
                found.append(name)
        return found

    @property
    def out(self) -> Path:
        """The folder of the file's run."""
        return _folder(self.config, self.path.stem)

    def ran(self) -> tuple[Results, Baseline]:
        """The results of the file's run. The first call runs the file."""
        if self._ran is None:
            options = Options(
                engines=tuple(self._engines()),
                scenarios=tuple(self._load()),
                out=self.out,
                wanted=self.config.getoption("--conformance-cases"),
                seed=self.config.getoption("--conformance-seed"),
            )
            results = Run(options).execute()
            results.write(self.out / RESULTS)
            write_witnesses(self.out / "witnesses", results.witnesses.values())
            self._ran = results, Baseline.of(results)
        return self._ran

    def accepts(self, place: Place) -> bool:
        """Whether the expectations accept a violated cell, as the gate reads them."""
        path = self.config.getoption("--conformance-expectations") or self.config.rootpath / "expectations.toml"
        if not path.exists():
            return False
        today = datetime.datetime.now(datetime.timezone.utc).date()
        _, baseline = self.ran()
        listed = listing(expectations.read(path), place, baseline.version(place[0]), today)
        return rule(None, baseline.cells[place], listed, today).outcome is Outcome.PASSES


class CellItem(pytest.Item):
    """A guarantee on an engine, over all perturbations."""

    parent: ScenarioFile

    def __init__(self, *, engine: str, scenario: Scenario, guarantee: Guarantee, **more: Any) -> None:
        super().__init__(**more)
        self.engine, self.scenario, self.guarantee = engine, scenario, guarantee

    def runtest(self) -> None:
        results, _ = self.parent.ran()
        cells = results.of((self.scenario.id, self.guarantee.id), self.engine)
        if not cells:
            why = results.environment[self.engine].failure if self.engine in results.environment else ""
            raise NotKept(f"{self.engine} did not run: {why or 'it gave no cells'}")
        for cell in cells:
            if cell.verdict in (Verdict.VIOLATED, Verdict.ERROR):
                self._violated(results, cell)
        decided = [cell for cell in cells if cell.verdict is not Verdict.UNSUPPORTED]
        held = [cell for cell in decided if cell.verdict is Verdict.HOLDS]
        if any(cell.verdict is Verdict.VIOLATED for cell in cells):
            pytest.xfail("accepted by the expectations")
        if not held:
            first = (decided or cells)[0]
            pytest.skip(f"{first.verdict.value}: {first.reason}")

    def _violated(self, results: Results, cell: MatrixCell) -> None:
        """Raises NotKept unless the cell is accepted."""
        _, baseline = self.parent.ran()
        place = (cell.engine, cell.scenario, cell.guarantee, cell.perturbation)
        if self.parent.accepts(place):
            return
        lines = [f"{self.guarantee.claim}: {cell.verdict.value} on {cell.engine} ({cell.perturbation}): {cell.reason}"]
        if cell.witness:
            witness = results.witnesses[cell.witness]
            path = file_of(self.parent.out / "witnesses", witness)
            alone = alone_lines(witness, cell.engine, results.environment[cell.engine].versions)
            lines += ["", *witness_lines(witness), *alone, "", f"conformance replay {path} --load {self.path}"]
            lines += [f'signature = "{baseline.cells[place].signature}"']
        raise NotKept("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotKept):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.scenario.name}: {self.guarantee.claim} [{self.engine}]"


class SubjectFile(pytest.File):
    """A file with subjects, and the one process that asks those that are selected."""

    _told: Told | None = None

    def collect(self) -> Iterator[pytest.Item]:
        ask_for([str(self.path)])
        try:
            (module,) = loaded_modules().modules.values()
            found = chosen(subjects_in(module), (), self.path.name)
        except InvalidPlugin as error:
            raise self.CollectError(str(error)) from None
        for subject in found:
            yield SubjectItem.from_parent(self, name=subject.name)

    def told(self) -> Told:
        """What was found of the file's subjects. The first call asks all that are selected."""
        if self._told is None:
            selected = tuple(item.name for item in self.session.items if item.parent is self)
            budget = self.config.getoption("--conformance-budget") or ""
            self._told = _told(self.config, self.path, selected, budget=budget)
        return self._told


def ask(config: pytest.Config, subject: Subject, *questions: str, budget: str = "") -> Report:
    """What the fixture ``conformance_ask`` does."""
    file = Path(str(getsourcefile(unwrap(subject.function))))
    try:
        return _answered(_told(config, file, (subject.name,), questions, budget), subject.name)
    except NotKept as broken:
        pytest.fail(str(broken), pytrace=False)


def _told(
    config: pytest.Config,
    file: Path,
    subjects: tuple[str, ...],
    questions: tuple[str, ...] = (),
    budget: str = "",
) -> Told:
    """What is found of subjects of a file."""
    out, seed = _folder(config, file.stem), config.getoption("--conformance-seed")
    seconds = seconds_of(budget) if budget else 0
    request = Request(str(file), subjects, questions, seed=seed, budget=seconds, out=str(out), again=True)
    return ask_all(request, out / "engine.log", lambda line: None)


def _folder(config: pytest.Config, name: str) -> Path:
    cache = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
    return Path(cache.mkdir("conformance")) / name if cache else Path("build")


def _answered(told: Told, subject: str) -> Report:
    """The report on a subject. Fails where a question is violated, or where it was not asked."""

    report = next((report for report in told.reports if report.subject == subject), None)
    if report is None or report.error:
        raise NotKept(report.error if report else told.unusable or "; ".join(told.cannot) or "it was not asked")
    violated = [finding for finding in report.findings if finding.verdict is Said.VIOLATED]
    if violated:
        lines = (
            f"{f.question}: {f.means}\n    {f.why}" + (f"\n    python {f.script}" if f.script else "") for f in violated
        )
        raise NotKept("\n".join(lines))
    return report


class SubjectItem(pytest.Item):
    """A subject under all questions."""

    parent: SubjectFile

    def runtest(self) -> None:
        report = _answered(self.parent.told(), self.name)
        if not any(finding.verdict is Said.HOLDS for finding in report.findings):
            pytest.skip(report.findings[0].why)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, NotKept) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"subject {self.name}"
