"""What Beam's runners answer when they are asked for what they lack: the evidence behind "unsupported"."""

from __future__ import annotations

import argparse

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue


def counters_on_bundle_based_runner() -> str:
    """The names of all counters after a late element reached an expired window and a GroupByKey."""
    pipeline = beam.Pipeline(runner=BundleBasedDirectRunner(), options=PipelineOptions(["--streaming"]))
    stream = TestStream().advance_watermark_to(100).add_elements([TimestampedValue(("k", 1), 5)])
    return "after a late element, " + _counters(pipeline, stream)


def counters_on_fn_api_runner() -> str:
    """The names of all counters after a GroupByKey; no element can be late on this runner's bounded input."""
    pipeline = beam.Pipeline(runner=FnApiRunner())
    return "after bounded input, " + _counters(pipeline, beam.Create([("k", 1)]))


def _counters(pipeline: beam.Pipeline, source: beam.PTransform) -> str:
    pipeline | source | beam.WindowInto(FixedWindows(10)) | beam.GroupByKey()
    result = pipeline.run()
    result.wait_until_finish()
    names = sorted({counter.key.metric.name for counter in result.metrics().query()["counters"]})
    return f"its counters are: {', '.join(names) or 'none'}"


def test_stream_on_fn_api_runner() -> str:
    """The error of FnApiRunner when it is given a TestStream."""
    pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(["--streaming"]))
    pipeline | TestStream().add_elements([1]).advance_watermark_to_infinity()
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return "no error"


def options_of_direct_runners() -> str:
    """The options of Beam's local runners: none of them names a checkpoint to write or to resume from."""
    parser = argparse.ArgumentParser(add_help=False)
    DirectOptions._add_argparse_args(parser)
    names = sorted(name for action in parser._actions for name in action.option_strings)
    return f"the options of its local runners are: {', '.join(names)}"
