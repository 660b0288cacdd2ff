"""Subjects on Beam with a bug, and subjects that cannot be tested."""

import time

import apache_beam as beam
from apache_beam.transforms import trigger
from apache_beam.transforms.deduplicate import DeduplicatePerKey
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from conformance import subject

PLAYS = {"schema": "team string, points int NOT NULL, at timestamp", "key": "team", "time": "at", "delay": "1 minute"}


class Total(beam.DoFn):
    """The bug: the sums are an attribute, and live as long as the bundle."""

    def start_bundle(self):
        self.totals = {}

    def process(self, play):
        self.totals[play["team"]] = self.totals.get(play["team"], 0) + play["points"]
        yield play["team"], self.totals[play["team"]]


@subject(**PLAYS)
def totals(plays: beam.PCollection) -> beam.PCollection:
    return plays | beam.ParDo(Total())


@subject(**PLAYS, windowing=FixedWindows(600), ignore=["seen"])
def recent(plays: beam.PCollection) -> beam.PCollection:
    """The bug: the clock decides. What it is, is no part of the answer."""
    late = plays | beam.Filter(lambda play: play["at"].timestamp() > time.time() - 3_600)
    pairs = late | beam.Map(lambda play: (play["team"], 1)).with_output_types(tuple[str, int])
    return pairs | beam.CombinePerKey(sum) | beam.MapTuple(lambda team, n: {"team": team, "n": n, "seen": time.time()})


@subject(**PLAYS, windowing=FixedWindows(600))
def once(plays: beam.PCollection) -> beam.PCollection:
    """No bug of its own: the runner gives late rows to Beam's DoFn with state."""
    pairs = plays | beam.Map(lambda play: (play["team"], play["points"])).with_output_types(tuple[str, int])
    return pairs | DeduplicatePerKey(event_time_duration=600)


@subject(**{**PLAYS, "schema": "team string, stored timestamp NOT NULL, at timestamp"})
def by_another_time(plays: beam.PCollection) -> beam.PCollection:
    """No bug: the windows are of a time that the watermark does not go by."""
    moved = plays | beam.Map(lambda play: TimestampedValue((play["team"], 1), play["stored"].timestamp()))
    return moved | beam.WindowInto(FixedWindows(600)) | beam.combiners.Count.PerKey()


@subject(**PLAYS)
def without_its_key(plays: beam.PCollection) -> beam.PCollection:
    return plays | beam.Map(lambda play: play["points"])


@subject(**PLAYS)
def of_no_collection(plays: beam.PCollection) -> beam.PCollection:
    return [plays]


@subject(
    schema={"debits": PLAYS["schema"], "credits": PLAYS["schema"]},
    key="team",
    time="at",
    delay="1 minute",
    windowing=FixedWindows(300),
)
def balance(debits: beam.PCollection, credits: beam.PCollection) -> beam.PCollection:
    """No bug: what two inputs have of a team."""
    kinds = {"d": debits, "c": credits}
    pairs = {
        name: rows | name >> beam.Map(lambda row: (row["team"], row["points"])).with_output_types(tuple[str, int])
        for name, rows in kinds.items()
    }
    return pairs | beam.CoGroupByKey() | beam.MapTuple(lambda team, both: (team, sum(both["c"]) - sum(both["d"])))


@subject(**{**PLAYS, "key": None}, output_mode="update")
def bests(plays: beam.PCollection) -> beam.pvalue.DoOutputsTuple:
    """No bug: two outputs in accumulating panes, of which the last one of each output, team and window counts."""
    panes = plays | beam.WindowInto(
        FixedWindows(600),
        trigger=trigger.AfterWatermark(early=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
    )
    pairs = panes | beam.Map(lambda row: (row["team"] or "", row["points"])).with_output_types(tuple[str, int])
    most = pairs | "most" >> beam.CombinePerKey(max)
    return most | beam.ParDo(Split()).with_outputs("low", main="high")


class Split(beam.DoFn):
    def process(self, pair):
        yield pair if pair[1] > 0 else beam.pvalue.TaggedOutput("low", pair)
        yield beam.pvalue.TaggedOutput("low", (pair[0], 0))


@subject(**PLAYS)
def of_no_column(plays: beam.PCollection) -> beam.PCollection:
    return plays | beam.Map(lambda play: play["pints"])
