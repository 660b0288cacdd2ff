"""The records in results of a run, its engines and scenarios, and the replayed stored witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.model.engine import EngineInfo
from conformance.model.scenario import Scenario
from conformance.support.plain import Plain

LEFT_OUT = "left out: the budget was spent"
"""The failure of an engine whose turn came after the end of a run's budget."""


@dataclass(frozen=True)
class RunRecord(Plain):
    """What was run.

    Attributes:
        harness: the version of this harness.
        seed: None where the cases came from a file.
        wanted: the least number of cases of each program on each timeline.
        cases: distinct cases, twins included.
        cases_digest: identifies the file of cases.
        timelines: number of timelines of the cases.
        partial: whether the run was cut short, by an interrupt or by its budget.
        budget: seconds that the run was given, 0 for as long as it took.
        left_out: number of packs that the budget left no time for.
        rows: the most rows of programs of a kind that an engine ran; 0 for all.
        perturbations: those that were asked about, () for all.
        brief: whether the run was a first look (``--quick``): stored witnesses replayed in packs, new ones run alone
            once.
        stored_witnesses: identifies the stored witnesses that were replayed.
        scenarios, engines: the requested ids.
    """

    harness: str = ""
    seed: int | None = None
    wanted: int = 0
    cases: int = 0
    cases_digest: str = ""
    timelines: int = 0
    partial: bool = False
    budget: float = 0.0
    left_out: int = 0
    rows: int = 0
    perturbations: tuple[str, ...] = ()
    brief: bool = False
    stored_witnesses: str = ""
    scenarios: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()


@dataclass(frozen=True)
class FeatureRecord(Plain):
    """How an engine offers a feature. ``how`` is native, emulated or unsupported. ``note`` says by what means, or why
    not. ``evidence`` is the engine's answer to a request for the feature."""

    how: str
    note: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class LatenessRecord(Plain):
    """When an engine's operator refuses a row as late, in words."""

    global_window: str = ""
    fixed_windows: str = ""


@dataclass(frozen=True)
class PacksRecord(Plain):
    """Number of packs that an engine ran, and number of packs that were drawn. A slow engine runs a selection."""

    run: int = 0
    drawn: int = 0


@dataclass(frozen=True)
class KeptRecord(Plain):
    """How much of an engine's evidence earlier runs had kept.

    Attributes:
        answers: number of answers to packs that were not asked for again.
        oldest: when the engine gave the oldest of them (YYYY-MM-DD, UTC), "" for none.
    """

    answers: int = 0
    oldest: str = ""


@dataclass(frozen=True)
class EngineRecord(Plain):
    """An engine as the run met it.

    Attributes:
        shown_as: the column of the matrix that the engine is shown in; native operators of one framework share one.
        native_operator: what the engine runs in place of programs, "" where it runs programs.
        versions: name -> version, the framework first; a setting's name has a dot.
        features: by the name of the feature.
        failure: why the engine did not run, or not to its end; "" if it did.
        kept: how much of its evidence is from earlier runs.
        answers: question -> whether the engine accepted or refused it, see ``Questioned``.
    """

    title: str = ""
    shown_as: str = ""
    native_operator: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    lateness: LatenessRecord = LatenessRecord()
    features: Mapping[str, FeatureRecord] = field(default_factory=dict)
    packs: PacksRecord = PacksRecord()
    failure: str = ""
    kept: KeptRecord = KeptRecord()
    answers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, info: EngineInfo) -> EngineRecord:
        can = info.capabilities
        operator = can.native_operator
        base, at, versions = info.id.partition("@")
        family = base.partition(":")[0] + at + versions
        return cls(
            title=info.title,
            shown_as=family if operator and not operator.compared else info.id,
            native_operator=operator.words if operator else "",
            versions=info.environment,
            lateness=LatenessRecord(can.lateness.global_window.value, can.lateness.fixed_windows.value),
            features={
                feature.value: FeatureRecord(support.how, support.note, info.evidence.get(feature, ""))
                for feature, support in can.features.items()
            },
            packs=PacksRecord(*info.packs),
            failure=info.failure,
            kept=KeptRecord(*info.kept),
            answers=info.answers,
        )

    @property
    def age(self) -> str:
        """That evidence is from earlier runs, and how old it is, in words; "" if all of it is new."""
        return f"from the cache, oldest {self.kept.oldest}" if self.kept.answers else ""

    @property
    def framework(self) -> tuple[str, str] | None:
        """The name and the version of the engine's framework, None where it has none."""
        first = next(iter(self.versions.items()), None)
        return None if first and first[0] == "python" else first

    def failed(self, why: str) -> EngineRecord:
        """A copy with this failure, unless the engine has an earlier failure."""
        return replace(self, failure=self.failure or why)


@dataclass(frozen=True)
class GuaranteeRecord(Plain):
    """A guarantee in words. ``program`` is the one that the guarantee is about; ``source`` is the document that claims
    it, with its ``quote`` and ``url``; both are "" where there is none."""

    claim: str
    program: str = ""
    source: str = ""
    quote: str = ""
    url: str = ""


@dataclass(frozen=True)
class ScenarioRecord(Plain):
    """A scenario in words; its guarantees by id."""

    name: str
    summary: str = ""
    guarantees: Mapping[str, GuaranteeRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario) -> ScenarioRecord:
        guarantees = {
            g.id: GuaranteeRecord(g.claim, g.program, g.source.document, g.source.quote, g.source.url)
            for g in scenario.guarantees
        }
        return cls(scenario.name, scenario.summary, guarantees)


@dataclass(frozen=True)
class ReplayRecord(Plain):
    """The answer of an engine to a stored witness (an id). ``answer`` is one of the answers of
    ``conformance.confirmation.replay``."""

    witness: str
    engine: str
    scenario: str
    guarantee: str
    answer: str
    message: str = ""
