"""What may not change a subject's answer: questions, each with what it means, and the pairs of runs that ask it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from conformance.model.values import Json
from conformance.subjects.answers import Answer, Ran, difference, kept, moved_back
from conformance.subjects.rows import (
    BATCHES,
    START,
    Batch,
    Delivery,
    Row,
    Span,
    cut,
    held_back,
    in_batches_of,
    moved_rows,
    other_orders,
    rows_in,
)
from conformance.subjects.schema import DAY
from conformance.subjects.setup import BEHIND, OTHER, PLAIN, PREVIOUS, SHOWING, Setup
from conformance.subjects.subject import Subject
from conformance.support.naming import counted
from conformance.support.plain import Plain

FIRST, LAST = START - 366 * 86_400_000, START + 3_660 * 86_400_000
"""Numbers between these are times of rows (ms)."""

CLOCK = 400 * DAY
"""How far (ms) from now a time may be for the clock to have said it."""

HELD = 0.5
"""How many of the rows, or cases, that may be held back are."""

MANY = 2 * BATCHES
"""The micro-batches of a delivery that is cut finely."""


@dataclass(frozen=True)
class Run(Plain):
    """A run to make: what is delivered, and how. ``moved`` says by how much (ms) its times are moved."""

    delivery: Delivery
    setup: Setup = PLAIN
    moved: int = 0

    def with_rows(self, change: Callable[[Row], Row]) -> Run:
        """The same run, each row changed."""
        return replace(self, delivery=tuple(tuple(map(change, batch)) for batch in self.delivery))


@dataclass(frozen=True)
class Pair(Plain):
    """Two runs that must answer alike. ``about`` is the question (id) that judges the runs as wholes, or what some keys
    answer; "" for one that compares answers."""

    plain: Run
    varied: Run
    about: str = ""

    @property
    def rows(self) -> Iterator[Row]:
        """The rows of both runs."""
        return (row for run in (self.plain, self.varied) for row in rows_in(run.delivery))

    def both(self, change: Callable[[Run], Run]) -> Pair:
        """The pair, each run changed."""
        return replace(self, plain=change(self.plain), varied=change(self.varied))


@dataclass(frozen=True)
class Seen:
    """What a case sees of a run: its final rows, and the run."""

    rows: Answer
    ran: Ran


@dataclass(frozen=True)
class Asked:
    """What a question is asked about: the cases of a subject, as they are delivered without a change."""

    subject: Subject
    span: Span
    delivery: Delivery
    random: Random

    @property
    def data(self) -> list[Row]:
        """The rows of the cases, in the order of time."""
        return [row for row in rows_in(self.delivery) if not row.closing]

    @property
    def closing(self) -> Delivery:
        return tuple(batch for batch in self.delivery if any(row.closing for row in batch))


class NotAsked(Exception):
    """A question that cannot be asked. The message says why."""


Make = Callable[[Asked], Iterator[Run]]
Judge = Callable[[Pair, Seen, Seen], str]


def same(pair: Pair, plain: Seen, varied: Seen) -> str:
    """How the answers differ, "" where they do not."""
    return difference(plain.rows, varied.rows).words


def itself(pair: Pair, keys: Sequence[str]) -> Pair:
    return pair


def in_one_shape(pair: Pair, keys: Sequence[str]) -> Pair:
    """A pair whose plain run has as many rows of each key in a micro-batch as the varied one, so that nothing but their
    order differs."""
    delivery = in_batches_of(pair.varied.delivery, rows_in(pair.plain.delivery), keys)
    return replace(pair, plain=replace(pair.plain, delivery=delivery))


def in_the_same_batches(pair: Pair, keys: Sequence[str]) -> Pair:
    """A pair whose plain run has the micro-batches of the varied one."""
    return replace(pair, plain=replace(pair.plain, delivery=pair.varied.delivery))


@dataclass(frozen=True)
class Question:
    """Something that may not change an answer.

    Attributes:
        id: its name for ``--question``.
        means: what it means, as a sentence.
        make: the runs that must answer as the plain one does. Raises NotAsked.
        judge: what is wrong with two runs, "" for nothing. Raises NotAsked.
        of_runs: it judges runs as wholes, and not case by case.
        refusable: the engine may refuse the varied run; then the question is not asked.
        first: where it does not hold, no other question says anything.
        layer: it can be asked in one run with other such questions: if all of them together change nothing, none does.
        fair: a pair in which nothing else differs, made of one whose deliveries may differ in more.
        versions: it is asked of a subject with a previous version, and of no other. A refusal is an answer.
    """

    id: str
    means: str
    make: Make
    judge: Judge = same
    of_runs: bool = False
    refusable: bool = False
    first: bool = False
    layer: bool = False
    fair: Callable[[Pair, Sequence[str]], Pair] = itself
    versions: bool = False


def together(layers: Sequence[Question], asked: Asked, base: float, last: bool) -> Pair:
    """A run that changes what some questions change, each what the ones before it made, beside the plain one. What a
    question draws does not depend on the others. ``last``: the run has the last run of each question, not the first;
    a question with one run that is not drawn is in the first alone, if there are others, and tasks that are tried again
    in the last alone, where settings are the user's own. Raises NotAsked."""
    now, setup, plain = asked, PLAIN, Run(asked.delivery)
    for question in layers:
        now = replace(now, random=Random(f"{base}/{last}/{question.id}"))
        first, *more = question.make(now)
        elsewhere = last is not first.setup.retries and len(layers) > 1
        if elsewhere and not more and first.setup.of_settings:
            continue
        run = more[-1] if last and more else first
        now, setup = replace(now, delivery=run.delivery), setup.beside(run.setup)
        if SPLITS not in layers:
            plain = question.fair(Pair(plain, run), asked.subject.keys).plain
    beside = PLAIN if RESTART in layers else _beside(setup, len(asked.delivery))
    return Pair(replace(plain, setup=beside), Run(now.delivery, setup))


def layers_of(questions: Sequence[Question]) -> list[Question]:
    """Those of some questions that one run asks together. A failure is compared with a restart at the same place: other
    micro-batches have no such place, so it is asked beside a restart that changes nothing, or alone."""
    return [q for q in questions if q.layer and (q is not FAILURE or RESTART in questions)]


def pairs(question: Question, asked: Asked) -> list[Pair]:
    """The pairs of a question. Raises NotAsked."""
    about = question.id if question.of_runs else ""
    most = len(asked.delivery)
    made = [Pair(Run(asked.delivery, _beside(run.setup, most)), run, about) for run in question.make(asked)]
    return [question.fair(pair, asked.subject.keys) for pair in made]


def _beside(varied: Setup, most: int) -> Setup:
    """How the run is made that a varied one is compared with: it is restarted where the varied one fails, since what
    runs again is another query. It has ``most`` micro-batches, and the varied one may have more."""
    return Setup(restarts=(min(varied.fails, most - 1),) if varied.fails else (), begun=varied.begun)


def setting(id_: str, means: str, settings: Mapping[str, str]) -> Question:
    """A question about other settings of the session."""
    return Question(id_, means, lambda asked: iter([Run(asked.delivery, Setup(settings=settings))]), layer=True)


# What any engine can be asked


def _again(asked: Asked) -> Iterator[Run]:
    yield Run(asked.delivery)


def _order(asked: Asked) -> Iterator[Run]:
    many = len(asked.delivery) - len(asked.closing)
    orders = other_orders(asked.data, asked.subject.delay, asked.random)
    for rows, parts in zip(orders, (many, max(many, MANY)), strict=True):
        yield Run((*cut(rows, parts), *asked.closing))


def _batches(asked: Asked) -> Iterator[Run]:
    yield Run((*cut(asked.data, 1), *asked.closing))
    yield Run((*cut(asked.data, MANY, asked.random), *asked.closing))


def _through(asked: Asked) -> Iterator[Run]:
    yield Run(asked.delivery, Setup(through=True))


def _empty(asked: Asked) -> Iterator[Run]:
    places = {0, *asked.random.sample(range(1, len(asked.delivery)), min(2, len(asked.delivery) - 1))}
    found: list[Batch] = []
    for number, batch in enumerate(asked.delivery):
        found += [(), batch] if number in places else [batch]
    yield Run(tuple(found))


def filled(asked: Asked) -> list[int]:
    """The micro-batches with rows of cases, at least one. What a row finds of those before it, no closing row tells."""
    found = [number for number, batch in enumerate(asked.delivery) if any(not row.closing for row in batch)]
    return found or [0]


def _restart(asked: Asked) -> Iterator[Run]:
    first, *others = filled(asked)
    yield Run(asked.delivery, Setup(restarts=(asked.random.choice(others or [first + 1]),)))


def _failure(asked: Asked) -> Iterator[Run]:
    first, *others = filled(asked)
    for where in (BEHIND, SHOWING):  # what puts rows out may be a micro-batch without data
        yield Run(asked.delivery, Setup(fails=asked.random.choice(others or [first]), breaks=where))


def _time(asked: Asked) -> Iterator[Run]:
    if not asked.subject.times:
        raise NotAsked("the subject names no column of event time")
    if not asked.span.moved:
        raise NotAsked("no move of the times keeps windows of these durations where they begin")
    moves = [by for by in (asked.span.moved, -asked.span.moved) if asked.span.alike(by)]
    if not moves:
        raise NotAsked(f"28 years later, and earlier, other rules hold in {', '.join(asked.span.zones)}")
    for by in moves:
        yield Run(moved_rows(asked.subject, asked.delivery, by), moved=by)


def _moved(pair: Pair, plain: Seen, varied: Seen) -> str:
    now = int(time.time() * 1_000)
    by, known = pair.varied.moved, kept(plain.rows, now - CLOCK, now + CLOCK)
    rows: list[dict[str, Json]] = [
        {name: moved_back(value, by, FIRST + by, LAST + by, known) for name, value in row.items()}
        for row in varied.rows
    ]
    return difference(plain.rows, rows).words


def _others(asked: Asked) -> Iterator[Run]:
    if not asked.subject.own_key:
        raise NotAsked("no key of texts or whole numbers of 32 bits")
    if len({row.case % 2 for row in asked.data}) < 2:
        raise NotAsked("there is one case alone")
    yield Run(asked.delivery)


def _without_others(pair: Pair, keys: Sequence[str]) -> Pair:
    """A pair whose plain run has the rows of every second case of the varied one, in its micro-batches."""
    delivery = tuple(tuple(row for row in batch if row.closing or not row.case % 2) for batch in pair.varied.delivery)
    return replace(pair, plain=replace(pair.plain, delivery=delivery), about=OTHERS.id)


def of_its_keys(pair: Pair, key: str, plain: Seen, varied: Seen) -> tuple[Seen, Seen]:
    """What is seen of the keys that the plain run has. Nothing is, where other rows of the varied one have them."""

    def keys(run: Run) -> list[Json]:
        return [row.values.get(key) for row in rows_in(run.delivery) if not row.closing]

    mine, all_ = keys(pair.plain), keys(pair.varied)
    if sum(each in mine for each in all_) != len(mine):
        return replace(plain, rows=()), replace(varied, rows=())
    kept = (tuple(row for row in seen.rows if row.get(key) in mine) for seen in (plain, varied))
    return replace(plain, rows=next(kept)), replace(varied, rows=next(kept))


def _watermarked(asked: Asked) -> int:
    """How far the watermark stays behind (ms). Raises NotAsked where nothing goes by one."""
    if asked.subject.delay is None:
        raise NotAsked("the subject has no watermark (delay)")
    if asked.subject.output.mode == "complete":
        raise NotAsked("in complete mode an engine keeps all state, and drops nothing")
    return asked.subject.delay


def _late_in(ran: Ran) -> int:
    """How many rows of a run the engine dropped as late. Raises NotAsked where nothing tells."""
    if not ran.stateful:
        raise NotAsked("no operator keeps state, so none drops what is late")
    if ran.dropped is None:
        raise NotAsked("the engine counts no late rows")
    return ran.dropped


def _late(asked: Asked) -> Iterator[Run]:
    _watermarked(asked)
    timed = [row for row in asked.data if row.at is not None]
    if not timed:
        raise NotAsked("no row has an event time")
    some = [row for row in timed if asked.random.random() < 0.5] or timed
    late = [replace(row, at=asked.span.long_past, nr=row.nr + 1_000_000, late=True) for row in some]
    at = len(asked.delivery) - len(asked.closing)
    beside, behind = asked.delivery[at : at + 1], asked.delivery[at + 1 :]
    yield Run((*asked.delivery[:at], (*late, *(row for batch in beside for row in batch)), *behind))


def _admitted(asked: Asked) -> Iterator[Run]:
    delay = _watermarked(asked)
    if left := [q.id for q in (ORDER, SPLITS) if q.id in asked.subject.leave_out]:
        raise NotAsked(f"such rows come in another order, and in another micro-batch; {left[0]} is left out")
    many = len(asked.delivery) - len(asked.closing)
    some = {case for case in sorted({row.case for row in asked.data}) if asked.random.random() < HELD}

    def by_itself(_: Row) -> bool:
        return asked.random.random() < HELD

    def with_its_case(row: Row) -> bool:
        """Two rows that a join pairs then meet in a late micro-batch."""
        return row.case in some

    ways = (many, by_itself), (max(many, MANY), by_itself), (many, with_its_case)
    plain = [((*cut(asked.data, parts), *asked.closing), chosen) for parts, chosen in ways]
    found = [held for each, chosen in plain if (held := held_back(each, delay, chosen)) != each]
    if not found:
        raise NotAsked("no row can come behind the watermark by a micro-batch")
    yield from map(Run, found)


def _all_taken(pair: Pair, plain: Seen, varied: Seen) -> str:
    if _late_in(plain.ran) or _late_in(varied.ran):
        raise NotAsked("the engine drops such rows as late")
    return same(pair, plain, varied)


def _without_late(pair: Pair, keys: Sequence[str]) -> Pair:
    """A pair whose plain run has the same micro-batches, but for the late rows in them."""
    delivery = tuple(tuple(row for row in batch if not row.late) for batch in pair.varied.delivery)
    return replace(pair, plain=replace(pair.plain, delivery=delivery))


def _dropped(pair: Pair, plain: Seen, varied: Seen) -> str:
    if not _late_in(varied.ran):
        raise NotAsked(
            "the engine counted none of the late rows as dropped: no operator of this query goes by the watermark, or "
            "none of these rows comes to it"
        )
    return same(pair, plain, varied)


def _nothing(asked: Asked) -> Iterator[Run]:
    _watermarked(asked)
    yield Run(asked.delivery)


def _counted(pair: Pair, plain: Seen, varied: Seen) -> str:
    late = _late_in(plain.ran)
    return f"the engine dropped {counted(late, 'row')} as late" if late else ""


def _closing(asked: Asked) -> Iterator[Run]:
    _watermarked(asked)
    if not asked.closing:
        raise NotAsked("rows that move the watermark past everything would take the place of answers")
    yield Run(asked.closing)


def _bounded_state(pair: Pair, plain: Seen, varied: Seen) -> str:
    if not plain.ran.stateful or plain.ran.stored is None or varied.ran.stored is None:
        raise NotAsked("no operator keeps state")
    more = plain.ran.stored - varied.ran.stored
    are = "is" if more == 1 else "are"
    left = f"{counted(more, 'row')} of state {are} left once the watermark has passed everything"
    return left if more > 0 else ""


def _bounded(asked: Asked) -> Iterator[Run]:
    # Where closing rows have no keys of their own, what a batch query says of them is not in the stream in append mode.
    closed = asked.subject.own_key or asked.subject.output.mode != "append"
    last = len(asked.delivery) if closed else len(asked.delivery) - len(asked.closing)
    yield Run(asked.delivery[:last], Setup(bounded=True))


def _in_one(pair: Pair, plain: Seen, varied: Seen) -> str:
    found = difference(plain.rows, varied.rows)
    closed = pair.plain.delivery == pair.varied.delivery
    return (found if closed else replace(found, lost=())).words


def _behind_another(asked: Asked) -> Iterator[Run]:
    for begun in sorted({1, max(1, (len(asked.delivery) - len(asked.closing)) // 2)}):
        yield Run(asked.delivery, Setup(begun=begun, by=PREVIOUS))


def _by_the_other(asked: Asked) -> Iterator[Run]:
    yield Run(asked.delivery, Setup(by=OTHER))


def _goes_on(pair: Pair, plain: Seen, varied: Seen) -> str:
    if not any(pair.varied.delivery[: pair.varied.setup.begun]):
        return ""  # a smaller pair whose previous version has no row
    if varied.ran.exchanged:
        before, behind = (
            ", ".join(names or ()) or "none that keeps state" for names in (varied.ran.before, varied.ran.operators)
        )
        return f"it goes on from a checkpoint of other operators without a word: {before} before, {behind} behind"
    return same(pair, plain, varied)


AGAIN = Question("again", "The same rows in the same way, once more, give the same answer.", _again, first=True)
ORDER = Question(
    "order",
    "Rows in another order, none later than the watermark lets in, give the same answer.",
    _order,
    layer=True,
    fair=in_one_shape,
)
SPLITS = Question(
    "batches", "The same rows in one micro-batch, or in more of them, give the same answer.", _batches, layer=True
)
EMPTY = Question("empty", "Micro-batches without rows in between change nothing.", _empty, layer=True)
THROUGH = Question(
    "plan",
    "A query before this one that changes no row, such as a join with one row, changes nothing.",
    _through,
    refusable=True,
    layer=True,
)
OTHERS = Question(
    "others",
    "Rows with other keys do not change what a key answers (key=None says that they may).",
    _others,
    fair=_without_others,
)
RESTART = Question("restart", "A restart from the checkpoint changes nothing.", _restart, layer=True)
FAILURE = Question(
    "failure",
    "A micro-batch that fails behind its sink and runs again puts out nothing else, for a sink that takes each "
    "batch once.",
    _failure,
    layer=True,
)
TIME = Question(
    "time",
    "All times 28 years later, or earlier, give the same answer at those times: nothing goes by the clock.",
    _time,
    _moved,
)
LATE = Question(
    "late", "Rows behind all that the watermark has passed change nothing.", _late, _dropped, fair=_without_late
)
ONCE = Question("once", "No row is dropped as late that the watermark lets in.", _nothing, _counted, of_runs=True)
ADMITTED = Question(
    "admitted",
    "Rows that come a micro-batch after the watermark has passed them, and are not dropped as late, count as if they "
    "had come in time.",
    _admitted,
    _all_taken,
)
STATE = Question(
    "state", "Once the watermark has passed everything, no state of it is left.", _closing, _bounded_state, of_runs=True
)
BOUNDED = Question(
    "bounded",
    "A batch query over the same rows gives the same answer, once later rows have come to the stream.",
    _bounded,
    _in_one,
)

NEXT = Question(
    "next",
    "On the checkpoint of the version before it, the query goes on as if it had always run, or is refused.",
    _behind_another,
    _goes_on,
    versions=True,
)

SAME = Question("same", "The other query gives the same answer to the same rows.", _by_the_other)
"""The one question of a subject that another one must answer like."""

TAKES_NO_RUN = (ONCE,)
"""Questions that the plain run answers."""


# Smaller pairs


def numbers(pair: Pair) -> list[int]:
    """The numbers of all rows of a pair, closing rows last."""
    return sorted({row.nr for row in pair.rows}, key=lambda nr: (nr < 0, nr))


def without(pair: Pair, gone: Sequence[int], hollow: bool = False) -> Pair:
    """A pair without some rows. A micro-batch that has no row any more is left out, unless ``hollow``."""
    left = frozenset(gone)
    return pair.both(lambda run: _without(run, left, hollow))


def only(pair: Pair, case: int, hollow: bool = False) -> Pair:
    """A pair with the rows of one case and the closing ones, in the micro-batches that they came in."""
    return without(pair, [row.nr for row in pair.rows if row.case != case and row.nr >= 0], hollow)


def _without(run: Run, gone: Collection[int], hollow: bool) -> Run:
    found: list[Batch] = []
    places: dict[int, int] = {}
    for number, batch in enumerate(run.delivery):
        places[number] = len(found)
        rows = tuple(row for row in batch if row.nr not in gone)
        if rows or hollow or not batch:
            found.append(rows)
    most = max(len(found) - 1, 0)
    return replace(
        run, delivery=tuple(found), setup=run.setup.renumbered(lambda number: min(places.get(number, most), most))
    )


def joined(pair: Pair, side: str, at: int) -> Pair:
    """A pair in which the micro-batches ``at`` and ``at + 1`` of a side are one."""
    run: Run = getattr(pair, side)
    batches = run.delivery
    delivery = (*batches[:at], batches[at] + batches[at + 1], *batches[at + 2 :])
    fewer = replace(run, delivery=delivery, setup=run.setup.renumbered(lambda number: number - (number > at)))
    return replace(pair, plain=fewer) if side == "plain" else replace(pair, varied=fewer)


def with_value(pair: Pair, of: str, column: str, value: Json) -> Pair:
    """A pair in which a column of an input has one value in all rows."""

    def changed(row: Row) -> Row:
        return replace(row, values={**row.values, column: value}) if row.input == of else row

    return pair.both(lambda run: run.with_rows(changed))


def means_something(pair: Pair, inputs: Sequence[str]) -> bool:
    """Whether a pair still asks its question: it has rows, and late rows come when the watermark has passed them, two
    micro-batches behind rows of each input."""
    for run in (pair.plain, pair.varied):
        for number, batch in enumerate(run.delivery):
            if any(row.late for row in batch):
                before = {row.input for earlier in run.delivery[: number - 1] for row in earlier if not row.late}
                if number < 2 or not before >= set(inputs):
                    return False
    asked = pair.varied.setup
    if pair.plain == pair.varied and not asked.settings:
        return True
    return any(pair.rows)
