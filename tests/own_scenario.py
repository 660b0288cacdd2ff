"""A scenario as a user would write it, for tests of whatever takes users' files."""


def echo(name):
    """The source of a scenario of this name, whose only program says each element again."""
    return SOURCE.replace("NAME", name)


SOURCE = """
from conformance.model import Domain, Guarantees, Program, Scenario


class Echo(Program):
    def on_event(self, event, state, timers, emit):
        emit({"heard": event.id})


of_echo = Guarantees("echo")


@of_echo("an element comes out again")
def comes_out(run):
    for arrival in run.on_time:
        yield arrival.event.id in {v["heard"] for v in run.values("heard")} or f"{arrival.event.id} is lost"


SCENARIO = Scenario(
    name="NAME",
    summary="Say it again.",
    programs={"echo": Echo()},
    domain={"echo": Domain(offsets=(1, 500))},
    guarantees=tuple(of_echo),
)
"""
