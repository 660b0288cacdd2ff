"""An engine that goes on in one release after the other: which release does what of a pack."""

import pytest

from conformance.execution.carried import CarriedEngine
from conformance.execution.host import EngineDown
from conformance.model.case import Case
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Advance, Deliver, Restart, renumbered
from conformance.model.trace import Emission, Trace


class Release:
    """A release of an engine, in a host that notes what it is asked."""

    def __init__(self, version, asked, refuses=""):
        self.id, self.lacks, self.alive, self.environment, self.evidence = f"e@{version}", "", True, {"e": version}, {}
        self.host, self.asked, self.refuses = self, asked, refuses

    def folder(self):
        return "no-such-folder"

    def run(self, *asked):
        """As an engine (a pack), or as a host (an engine, a pack, a part and a folder)."""
        pack, part = (asked[1], asked[2]) if len(asked) > 1 else (asked[0], "whole")
        self.asked.append(f"{self.id} {part}")
        if part == self.refuses:
            raise EngineDown("it cannot read this; the full log is in x")
        emissions = [Emission("k", step.id, step.id) for step in pack.timeline if isinstance(step, Deliver)]
        return PackRun({case.id: Trace.collect(emissions) for case in pack.cases})


@pytest.fixture
def asked():
    return []


def there_and_back(asked, refuses=""):
    new = Release("2", asked, refuses)
    return CarriedEngine([new, Release("1", asked), new])


def pack_of(restarts):
    steps = [Advance(0, 10)]
    for _ in range(restarts):
        steps += [Deliver(0), Restart(0)]
    return Pack((Case("s", "p", renumbered([*steps, Deliver(0), Advance(0, 90)])),))


@pytest.mark.parametrize(
    ("restarts", "parts"),
    [
        (0, ["e@2 whole", "e@1 whole"]),
        (1, ["e@2 begin", "e@1 resume"]),
        (2, ["e@2 begin", "e@1 begin", "e@2 resume"]),
        (3, ["e@2 begin", "e@1 begin", "e@2 resume"]),
    ],
)
def test_each_restart_hands_a_job_on_as_long_as_there_is_another_release(asked, restarts, parts):
    there_and_back(asked).run(pack_of(restarts))
    assert asked == parts


def test_a_release_that_does_not_go_on_behind_the_second_restart_has_answered_up_to_it(asked):
    pack = pack_of(2)
    run = there_and_back(asked, refuses="resume").run(pack)
    (trace,) = run.traces.values()
    first, second, _ = (step.id for step in pack.timeline if isinstance(step, Deliver))
    restart = second + 1
    told = [(emission.step, emission.value) for emission in trace.emissions]
    assert told == [(first, first), (second, second), (restart, {"not resumed": "it cannot read this"})]
    assert asked[-2:] == ["e@2 whole", "e@1 whole"], "each goes on from a checkpoint of its own"


def test_its_environment_names_the_releases_in_order():
    assert there_and_back([]).environment == {"e": "2 then 1 then 2"}
