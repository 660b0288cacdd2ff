"""Options that several commands share, each defined once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.hints import Choice
from conformance.model.scenario import Scenario
from conformance.plugins.loading import NEXT, ask_for
from conformance.plugins.loading import asked as loaded_names
from conformance.plugins.registry import checker_ids, load_engine, load_scenarios, users, users_scenarios
from conformance.run.options import MANY
from conformance.support.naming import unknown

if TYPE_CHECKING:
    from conformance.run.options import Options

Decorator = Callable[[Any], Any]

PATH = click.Path(path_type=Path)


def into(name: str, kind: type[Any]) -> Decorator:
    """Gives a command one dataclass, as the parameter ``name``, in the place of the options that its fields are called
    after."""
    of_it = [field.name for field in fields(kind)]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_it(**values: Any) -> None:
            command(**{name: kind(**{field: values.pop(field) for field in of_it})}, **values)

        return with_it

    return decorated


def _load(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> None:
    if names:
        ask_for(names)
    found = users()  # an unusable file causes an error before anything else happens
    if names and not found.ports and not found.scenarios and context.info_name != "upgrade":
        raise click.UsageError(
            f"{names[0]} has subjects, and no port or scenario: conformance subject {names[0]} tests them"
        )


def _next(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> None:
    if names:
        ask_for([*loaded_names(), *(NEXT + name for name in names)])
        users()


def seconds(context: click.Context, option: click.Parameter, given: str | None) -> float | None:
    """The callback of an option that takes a time such as 90s, 5m or 1h; the command gets seconds."""
    return None if given is None else seconds_of(given)


def seconds_of(given: str) -> float:
    """The seconds of a time such as 90s, 5m or 1h. Raises BadParameter."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", given)
    if not found or not float(found[1]):
        raise click.BadParameter(f"{given!r} is not a time such as 90s, 5m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3_600}[found[2]]


_load_option = click.option(
    "--load",
    metavar="FILE_OR_MODULE",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="A Python file or module with ports of your own operators, or scenarios (repeat for several).",
)

_next_option = click.option(
    "--next",
    metavar="FILE_OR_MODULE",
    multiple=True,
    expose_value=False,
    callback=_next,
    help="A file or module with next versions of the loaded ports, under the same names: does each go on from the "
    "checkpoint of the version before it? Nothing else is asked of these ports.",
)


def load(command: Callable[..., None]) -> Callable[..., None]:
    """The options that load a user's files. Commands do not see their values. ``--load`` is handled first, because
    other options may name what it loads."""
    loads: Callable[..., None] = _load_option(_next_option(command))
    return loads


checker = click.option(
    "--checker",
    type=Choice(["auto", "local", *checker_ids()]),
    default="auto",
    show_default=True,
    help="Where traces are judged: in this process (local), or by a checker that engines bring. "
    f"auto: by one of these above {MANY} cases, if it can run here.",
)

cases_from = click.option("--cases-from", type=PATH, help="Take the cases of another run: its folder.")

seed = click.option(
    "--seed", type=int, default=1, show_default=True, help="Another one explores: other cases, in another design."
)

verbose = click.option(
    "-v", "--verbose", is_flag=True, help="Print all: each step of a run, each guarantee, each reason."
)


def _witnesses() -> Path:
    from conformance.results.witness import FOLDER, projects_folder

    return Path(FOLDER) if Path(FOLDER).is_dir() else projects_folder()


witnesses = click.option(
    "--witnesses",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CONFORMANCE_WITNESSES",
    default=_witnesses,
    show_default="witnesses, or the project's own where there is no such folder",
    help="Folder of stored witnesses. They are replayed first; the command writes nothing there.",
)

fresh = click.option(
    "--fresh",
    is_flag=True,
    envvar="CONFORMANCE_FRESH",
    help="Ask engines for everything, also for what earlier runs have kept. The new answers are kept.",
)

expectations = click.option(
    "--expectations",
    type=PATH,
    help="File of accepted divergences. Default: expectations.toml, where there is one.",
)


def engines(default: str, what: str = "An engine") -> Decorator:
    return click.option("--engine", "engines", multiple=True, help=f"{what} (repeat for several). Default: {default}.")


def scenarios(default: str) -> Decorator:
    return click.option(
        "--scenario", "scenarios", multiple=True, help=f"A scenario (repeat for several). Default: {default}."
    )


perturbations = click.option(
    "--perturbation",
    "perturbations",
    metavar="ID",
    multiple=True,
    help="Ask about this perturbation alone (repeat for several): a restart, a plan, … as the matrix names it. "
    "Default: all.",
)


def check_perturbations(names: Iterable[str], engines: Iterable[str]) -> None:
    """Raises UsageError: none of the engines can be asked about a perturbation, by its id."""
    from conformance.model.perturbation import PERTURBATIONS

    plans = (plan.perturbation for name in engines for plan in load_engine(name).capabilities.plans)
    there = dict.fromkeys(p.id for p in (*PERTURBATIONS, *plans))
    if odd := [name for name in names if name not in there]:
        raise click.UsageError(unknown("perturbation", odd[0], there))


def cases(default: int, text: str = "The least number of cases of each program on each timeline.") -> Decorator:
    return click.option("--cases", "wanted", type=click.IntRange(1), default=default, show_default=True, help=text)


def out(default: str) -> Decorator:
    return click.option("--out", type=PATH, default=Path(default), show_default=True)


def timeout(seconds: int, what: str) -> Decorator:
    return click.option(
        "--timeout", type=click.FloatRange(1), default=seconds, show_default=True, help=f"Seconds for {what}."
    )


def file(name: str, text: str) -> Decorator:
    """An option that names a file to write."""
    return click.option(name, type=PATH, help=text)


@dataclass(frozen=True)
class Asked:
    """What a command runs: the options of ``asked``, which every command that runs scenarios on engines has."""

    engines: tuple[str, ...]
    scenarios: tuple[str, ...]
    wanted: int
    cases_from: Path | None
    seed: int
    out: Path
    timeout: float
    witnesses: Path
    fresh: bool

    @property
    def about(self) -> tuple[Scenario, ...]:
        """The scenarios. Raises UnknownName."""
        return tuple(scenarios_named(self.scenarios))

    def options(self, engines: tuple[str, ...], about: tuple[Scenario, ...], **more: Any) -> Options:
        """A run of these scenarios on these engines; ``more`` are other fields of ``Options``."""
        from conformance.execution.kept import traces_folder
        from conformance.run.options import KeptTraces, Options

        mine = {name: getattr(self, name) for name in ("wanted", "seed", "cases_from", "out", "timeout")}
        traces = KeptTraces(traces_folder(), self.fresh)
        given = {"witnesses": (self.witnesses,), "traces": traces, **mine, **more}
        return Options(engines=engines, scenarios=about, **given)


def scenarios_named(names: tuple[str, ...]) -> list[Scenario]:
    """The scenarios of these names; those that were loaded where there are none, else all. Raises UnknownName."""
    return load_scenarios(names) if names else users_scenarios() or load_scenarios()


def asked(engine: Decorator, least: int, folder: str) -> Decorator:
    """The options of ``Asked``, which the command gets as ``asked``. ``least`` is the default of --cases, ``folder``
    that of --out."""
    mine = [engine, load, scenarios("all, or what was loaded"), cases(least), cases_from, seed, out(folder)]
    return together(*mine, timeout(600, "one pack of cases on one engine"), witnesses, fresh, into("asked", Asked))


def together(*options: Decorator) -> Decorator:
    """Several options as one, in the order of the help."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated
