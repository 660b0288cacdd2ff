"""What the Beam adapters share about the framework: is it there, which version, and which runner a pipeline ran on."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.version import Version

from conformance.engines.beam.refused import refusals
from conformance.model.engine import CannotRun
from conformance.support.release import in_release


class OfBeam:
    """Base of the Beam engines: what they are installed from, and what they are asked.

    Attributes:
        runner: the name of the runner.
        asks: the pipelines (of ``refusals``) that it is asked about.
        compares: those that it is asked about beside, where it runs in a release that is compared with another one.
    """

    package = "apache-beam"
    foreign: tuple[str, ...] = ()
    asks: tuple[str, ...] = tuple(refusals.USUAL)
    compares: tuple[str, ...] = ()
    runner: str

    @property
    def questions(self) -> Mapping[str, str]:
        return {name: refusals.REFUSALS[name].words for name in (*self.asks, *self.compares)}

    def answers(self) -> Mapping[str, str]:
        return refusals.answers((*self.asks, *(self.compares if in_release() else ())), self.finish)

    def finish(self, build: refusals.Build) -> Any:
        """Build a small pipeline, and run it to its end on the engine's runner."""
        raise NotImplementedError

    def beside(self, version: Version) -> tuple[str, ...]:
        return ()

    def check(self) -> None:
        check()

    def lacks(self) -> str:
        return ""

    def open(self, folder: Path) -> None:
        logging.getLogger().setLevel(logging.ERROR)

    def close(self) -> None:
        pass

    def environment(self) -> dict[str, str]:
        import apache_beam

        return {"beam": apache_beam.__version__, "runner": self.runner, "python": sys.version.split()[0]}


def check() -> None:
    """Raise CannotRun where Beam is missing."""
    if find_spec("apache_beam") is None:
        raise CannotRun("Apache Beam is not installed: pip install 'apache-beam>=2.60'")


def ran_on(result: Any) -> str:
    """The runner that a result of DirectRunner is from. Its only portable runner is Prism (Beam 2.77.0)."""
    from apache_beam.runners.direct.direct_runner import DirectPipelineResult
    from apache_beam.runners.portability.fn_api_runner.fn_runner import RunnerResult
    from apache_beam.runners.portability.portable_runner import PipelineResult

    runners = {
        DirectPipelineResult: "BundleBasedDirectRunner",
        RunnerResult: "FnApiRunner",
        PipelineResult: "PrismRunner",
    }
    return runners.get(
        type(result), f"a runner whose result is a {type(result).__module__}.{type(result).__qualname__}"
    )
