"""Which pipelines Beam refuses: a stateful DoFn on elements without a key, with one name for two cells. And what state
is like in windows that merge."""

import apache_beam as beam
import saying
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import userstate, window


class Count(beam.DoFn):
    COUNT = userstate.CombiningValueStateSpec("count", sum)

    def process(self, element, count=beam.DoFn.StateParam(COUNT)):
        count.add(1)
        saying.SEEN.append(count.read())


class OneNameTwice(beam.DoFn):
    ONE = userstate.BagStateSpec("same", beam.coders.VarIntCoder())
    OTHER = userstate.CombiningValueStateSpec("same", sum)

    def process(self, element, one=beam.DoFn.StateParam(ONE), other=beam.DoFn.StateParam(OTHER)):
        yield element


def run(elements, fn, windows=None):
    """What either runner says to a DoFn on elements (one second apart), and what the DoFn saw."""
    answers = {}
    for runner in (BundleBasedDirectRunner, FnApiRunner):
        saying.SEEN.clear()

        def pipeline(runner=runner):
            with beam.Pipeline(runner=runner()) as pipeline:
                timed = (
                    pipeline
                    | beam.Create(enumerate(elements))
                    | beam.MapTuple(lambda n, e: window.TimestampedValue(e, n))
                )
                timed | beam.WindowInto(windows or window.GlobalWindows()) | beam.ParDo(fn)
            return f"ran, the counts were {saying.SEEN}"

        answers[runner.__name__] = saying.outcome(pipeline)
    return answers


for claim, answers in {
    "beam-flat-elements": run(["a", "b"], Count()),
    "beam-same-state-id": run([("key", 1)], OneNameTwice()),
}.items():
    saying.says(claim, not any(answer.startswith("ran") for answer in answers.values()), answers)

# The two elements are of one session: a state that followed it would count 1 and 2.
answers = run([("key", 1), ("key", 2)], Count(), window.Sessions(10))
saying.says("beam-guide-merging-windows", not any("[1, 2]" in answer for answer in answers.values()), answers)
