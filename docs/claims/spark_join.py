"""How long a stream-stream join holds a row: whether it matches one that comes when more than the watermark's delay has
passed."""

from pyspark.sql import functions as sf
from saying import collected, micro_batches, says, spark_session

spark = spark_session()
# The watermark is 10 s behind. A right row may be up to 100 s after the left one.
left = [[("a", "left", 200)], [("b", "moves", 260)], [("b", "moves", 260)], [("b", "none", 260)]]
right = [[("b", "none", 200)], [("c", "moves", 260)], [("c", "moves", 260)], [("a", "right", 290)]]
lefts, rights = micro_batches(spark, left, delay=10).alias("l"), micro_batches(spark, right, delay=10).alias("r")
within = sf.expr("l.key = r.key and r.time >= l.time and r.time <= l.time + interval 100 seconds")
joined = lefts.join(rights, within).filter("l.key = 'a'").select("l.what", "r.what")
out = collected(joined)
matched = any(["left", "right"] in rows for rows in out.values())
says(
    "spark-join-held-at-most",
    not matched,
    "a left row of 200 s, a delay of 10 s and a range of 100 s; when the watermark is at 250 s, a right row of 290 s "
    f"{'is' if matched else 'is not'} joined with it",
)
