"""Six pipelines of the kinds that Beam's examples show, as subjects."""

from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from apache_beam.transforms import trigger
from apache_beam.transforms.window import FixedWindows, Sessions, SlidingWindows

from conformance import subject

PLAYS = "team string, player string, points int NOT NULL, at timestamp"


@subject(schema=PLAYS, key="team", time="at", delay="5 minutes", windowing=FixedWindows(3_600))
def hourly_team_scores(plays: beam.PCollection) -> beam.PCollection:
    """The points of each team in each hour."""
    scores = plays | "by team" >> beam.Map(lambda play: (play["team"], play["points"])).with_output_types(
        tuple[str, int]
    )
    return scores | "sum" >> beam.CombinePerKey(sum)


@subject(schema=PLAYS, key="player", time="at", delay="5 minutes", values={"player": ["ann", "bob"]})
def play_sessions(plays: beam.PCollection) -> beam.PCollection:
    """How many plays each session of a player has; a session ends after ten minutes without one."""
    windowed = plays | "sessions" >> beam.WindowInto(Sessions(600))
    return (
        windowed
        | "by player" >> beam.Map(lambda play: (play["player"], 1)).with_output_types(tuple[str, int])
        | beam.CombinePerKey(sum)
    )


@subject(schema="editor string, page string, at timestamp", key="editor", time="at", delay="1 minute")
def busiest_sessions(edits: beam.PCollection) -> beam.PCollection:
    """The number of edits of each session of an editor, of those with two edits at least."""
    sessions = edits | "sessions" >> beam.WindowInto(Sessions(3_600))
    counted = (
        sessions
        | "by editor" >> beam.Map(lambda edit: (edit["editor"], 1)).with_output_types(tuple[str, int])
        | beam.CombinePerKey(sum)
    )
    return counted | "busy" >> beam.Filter(lambda pair: pair[1] >= 2)


@subject(schema="station string, speed double NOT NULL, at timestamp", key="station", time="at", delay="1 minute")
def slowdowns(readings: beam.PCollection) -> dict[str, beam.PCollection]:
    """The mean speed at each station in three minutes, every minute; and, as a second output, those below five."""
    windowed = readings | "windows" >> beam.WindowInto(SlidingWindows(180, 60))
    speeds = windowed | "by station" >> beam.Map(lambda row: (row["station"], row["speed"])).with_output_types(
        tuple[str, float]
    )
    means = speeds | "mean" >> beam.combiners.Mean.PerKey()
    return {"mean": means, "slow": means | "slow" >> beam.Filter(lambda pair: pair[1] < 5)}


@subject(schema=PLAYS, key="team", time="at", delay="5 minutes", output_mode="update")
def leader_board(plays: beam.PCollection) -> beam.PCollection:
    """The points of each team so far in the hour: a first pane after each element, which the next one takes the place
    of."""
    windowed = plays | "windows" >> beam.WindowInto(
        FixedWindows(3_600),
        trigger=trigger.AfterWatermark(early=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=0,
    )
    return (
        windowed
        | "by team" >> beam.Map(lambda play: (play["team"], play["points"])).with_output_types(tuple[str, int])
        | beam.CombinePerKey(sum)
    )


@subject(schema=PLAYS, key="team", time="at", delay="5 minutes", windowing=FixedWindows(3_600))
def points_in_batches(plays: beam.PCollection) -> beam.PCollection:
    """The points of each team in each hour, added up in batches of three plays first, as one does before a call to a
    service.

    Bounded input gives another answer than a stream on the bundle-based DirectRunner (Beam 2.77.0): the batch that is
    not full comes out when its window ends, and the grouping behind it takes it for late."""
    scores = plays | "by team" >> beam.Map(_score).with_output_types(tuple[str, int])
    batches = scores | "batches" >> beam.GroupIntoBatches(3)
    sums = batches | "sum of each" >> beam.MapTuple(_sum).with_output_types(tuple[str, int])
    return sums | "sum" >> beam.CombinePerKey(sum)


def _score(play: dict[str, Any]) -> tuple[str, int]:
    return play["team"], play["points"]


def _sum(team: str, points: Iterable[int]) -> tuple[str, int]:
    return team, sum(points)
