"""A move from one engine to another, as lines of text and as Markdown: by kind of difference, each cause with its
advice once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.comparison.moves import Difference, Kind, Move
from conformance.reports.advice import UNKNOWN_CAUSE, advice_on
from conformance.reports.text.markdown import plain
from conformance.reports.text.violations import named
from conformance.reports.words import amount, replay_command, shortened, some
from conformance.results.results import Results

FEW = 3
"""How many guarantees of a cause the terminal tells; the summary has all."""

WIDTH = 200
"""The most characters of an advice or a reason at the terminal."""


@dataclass(frozen=True)
class Told:
    """A move with its differences.

    Attributes:
        accepted: the differences that the expectations accept.
    """

    results: Results
    move: Move
    found: Sequence[Difference]
    accepted: frozenset[Difference] = frozenset()

    def of(self, kind: Kind) -> list[Difference]:
        return [difference for difference in self.found if difference.kind is kind]

    def by_cause(self, kind: Kind) -> Mapping[tuple[str, str], list[Difference]]:
        """(cause, advice) -> its differences, those without a known cause last. What cannot be compared has a reason in
        place of a cause, and no advice."""
        found: dict[tuple[str, str], list[Difference]] = {}
        for difference in self.of(kind):
            if kind is Kind.APART:
                cause = difference.why, ""
            else:
                advice = advice_on(difference.row, difference.engine)
                cause = (advice.cause, advice.text) if advice else (UNKNOWN_CAUSE, "")
            found.setdefault(cause, []).append(difference)
        return dict(sorted(found.items(), key=lambda entry: (entry[0][0] == UNKNOWN_CAUSE, -len(entry[1]))))

    def name(self, difference: Difference) -> str:
        return named(self.results, difference.row)

    @property
    def sum(self) -> str:
        """How many guarantees are of which kind, in a line."""
        numbers = ", ".join(f"{len(self.of(kind))} {kind.value}" for kind in Kind)
        accepted = f" ({len(self.accepted)} of them accepted)" if self.accepted else ""
        return f"{self.move.words}: of {amount(len(self.results.folded()), 'guarantee')}, {numbers}{accepted}"


def lines(told: Told, everything: bool = False) -> Iterator[str]:
    """The move for a terminal: the sum, then each cause with a few of its guarantees, or with all."""
    yield told.sum
    for kind in Kind:
        if not told.of(kind):
            continue
        yield f"{kind.value.capitalize()}:"
        for (cause, advice), found in told.by_cause(kind).items():
            what = shortened(f"{cause}. {' '.join(advice.split())}" if advice else cause, WIDTH)
            yield f"  {amount(len(found), 'guarantee')}: {what}"
            few = found if everything else found[:FEW]
            if kind in (Kind.BROKEN, Kind.MENDED) or everything:
                yield from (f"    {told.name(one)} ({_under(one)}){_command(told, one)}" for one in few)
            if len(few) < len(found) and kind in (Kind.BROKEN, Kind.MENDED):
                yield f"    and {len(found) - len(few)} more"


def _under(difference: Difference) -> str:
    return some(difference.perturbations) or "under the same perturbations"


def _command(told: Told, difference: Difference) -> str:
    accepted = "; accepted" if difference in told.accepted else ""
    return (f" [{replay_command(difference.witness)}]" if difference.witness else "") + accepted


def markdown(told: Told, commands: Mapping[str, str]) -> str:
    """The move as Markdown, with every guarantee. ``commands`` replay witnesses, by their ids."""
    parts = [f"# {plain(told.move.words)}", "", f"{plain(told.sum)}.", ""]
    for kind in Kind:
        if told.of(kind):
            parts += [f"## {kind.value.capitalize()}", ""]
        for (cause, advice), found in told.by_cause(kind).items():
            parts += [f"### {plain(cause)}: {amount(len(found), 'guarantee')}", ""]
            parts += [advice, ""] if advice else []
            for one in found:
                accepted = ", accepted" if one in told.accepted else ""
                parts.append(f"- {plain(told.name(one))} ({plain(_under(one))}{accepted})")
                parts += [f"  - `{commands[one.witness]}`"] if one.witness in commands else []
            parts.append("")
    return "\n".join(parts)
