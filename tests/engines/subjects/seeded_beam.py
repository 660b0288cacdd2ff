"""Subjects on Beam with a bug, and subjects that cannot be tested."""

import time

import apache_beam as beam
from apache_beam.transforms.window import FixedWindows

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


@subject(**PLAYS, windowing=FixedWindows(600))
def recent(plays: beam.PCollection) -> beam.PCollection:
    """The bug: the clock decides."""
    late = plays | beam.Filter(lambda play: play["at"].timestamp() > time.time() - 3_600)
    return late | beam.Map(lambda play: (play["team"], 1)).with_output_types(tuple[str, int]) | beam.CombinePerKey(sum)


@subject(**PLAYS)
def without_its_key(plays: beam.PCollection) -> beam.PCollection:
    return plays | beam.Map(lambda play: play["points"])


@subject(**PLAYS)
def of_no_collection(plays: beam.PCollection) -> beam.PCollection:
    return [plays]
