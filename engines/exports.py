"""The export "pytest": a witness as a test file in the idiom of the engine that it was found on."""

from conformance.engines.beam.export import files as beam
from conformance.engines.beam.export import native as export_native
from conformance.engines.spark.export import files as spark
from conformance.model.export import CannotExport, Exportable

OF_ENGINE = {
    **dict.fromkeys(beam.STREAMED, beam.teststream),
    **dict.fromkeys(beam.BATCHED, beam.bounded),
    spark.TESTER: spark.twstester,
    spark.SPARK: spark.spark,
    spark.PANDAS: spark.spark,
    spark.GROUPS: spark.spark,
    **dict.fromkeys(spark.SIBLINGS, spark.spark),
}


def pytest(asked: Exportable) -> str:
    """The file. Raises CannotExport where no format fits the engine or the witness."""
    if asked.engine.startswith(spark.NATIVE):
        return spark.spark(asked)
    if export_native.runner_of(asked.engine):
        return beam.teststream(asked)
    if asked.engine not in OF_ENGINE:
        there = ", ".join([*OF_ENGINE, *(f"{begin}NAME" for begin in (spark.NATIVE, *export_native.NATIVE))])
        raise CannotExport(f"pytest exports no witness of {asked.engine}; it exports witnesses of {there}")
    return OF_ENGINE[asked.engine](asked)
