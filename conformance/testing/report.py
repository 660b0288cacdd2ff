"""The adapter kit's answer about an adapter: a fault, or a report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


class AdapterFault(AssertionError):
    """A fault of an adapter: what is wrong, where, and how to mend it, in one line."""


@dataclass(frozen=True)
class Report:
    """The report of ``check_engine`` on an adapter without a fault.

    Attributes:
        checked: the checks that were made.
        cases: the number of distinct cases that ran.
        runs: the number of engine runs.
        skipped: a check that was not made -> the reason.
        remarks: differences from the reference. A difference is fine if the engine makes it, not the adapter.
    """

    engine: str
    checked: tuple[str, ...]
    cases: int
    runs: int
    skipped: Mapping[str, str]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.engine}: {self.cases} cases in {self.runs} runs", f"  checked: {', '.join(self.checked)}"]
        lines += [f"  not checked: {what} ({why})" for what, why in self.skipped.items()]
        return "\n".join([*lines, *(f"  remark: {remark}" for remark in self.remarks)])


def told(error: BaseException) -> str:
    """An exception in words, for a fault."""
    return f"{type(error).__name__}: {error}"[:300]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those behind it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
