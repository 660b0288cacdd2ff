"""What the scripts of every framework say."""

import os
from pathlib import Path
from pprint import pformat

from conformance.model.values import Json
from conformance.subjects.questions import FIRST, LAST, OTHERS, Pair
from conformance.subjects.rows import Delivery, rows_in, written
from conformance.subjects.subject import Subject


def path_from(out: Path, file: Path) -> str:
    """The path of a file from the folder of a script."""
    return os.path.relpath(file.resolve(), out.resolve().parent)


def others_in(subject: Subject, pair: Pair) -> set[Json]:
    """The keys of a pair's rows that it is not about: those that rows of the varied run alone have, if it is about what
    some keys answer."""
    if pair.about != OTHERS.id:
        return set()
    plain, varied = (
        {row.values.get(subject.own_key) for row in rows_in(run.delivery) if not row.closing}
        for run in (pair.plain, pair.varied)
    )
    return varied - plain


def values_of(subject: Subject, pair: Pair, file: Path, out: Path, what: str, *, nulls: bool) -> dict[str, str]:
    """The source of what the names stand for that the templates of all frameworks have, in a script ``out`` about the
    function of a file; ``what``: what the second run has that the first has not. ``nulls``: a row has its nulls."""

    def batches(delivery: Delivery) -> str:
        rows = [[(row.input, written(subject, row)) for row in batch] for batch in delivery]
        if not nulls:
            rows = [[(of, {k: v for k, v in row.items() if v is not None}) for of, row in batch] for batch in rows]
        return pformat(rows, width=110, sort_dicts=False)

    return {
        "FILE": repr(path_from(out, file)),
        "NAME": repr(subject.name),
        "IGNORED": repr(list(subject.output.ignored)),
        "PLAIN": batches(pair.plain.delivery),
        "WHAT": repr(what),
        "VARIED": batches(pair.varied.delivery),
        "MOVED": repr(pair.varied.moved),
        "BETWEEN": repr((FIRST, LAST)),
    }
