"""Spark 4.3.0, flatMapGroupsWithState of the JVM: a later call that sets no timeout drops the timeout of its key.

The drop does not depend on whether the later call updates the state. The key "alone" has no later call, and its timeout
occurs. The batches are those of docs/findings/spark_timeout_kept.py, where applyInPandasWithState keeps the timeout if
the later call does not update the state. The function is Java. Janino, which comes with Spark, compiles it.
"""

import os
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import DataFrame
from saying import collected, micro_batches, says, spark_session

JAVA = """
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapGroupsWithStateFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.GroupState;

public class FirstCallSets implements FlatMapGroupsWithStateFunction {
  public static class Key implements MapFunction {
    public Object call(Object row) {
      return ((Row) row).getString(0);
    }
  }

  public Iterator call(Object key, Iterator rows, GroupState state) {
    String what = "later call, does neither";
    if (state.hasTimedOut()) {
      what = "timed out";
    } else if (!state.exists()) {
      state.update("1");
      state.setTimeoutTimestamp(150000L);
      what = "first call, sets 150 s";
    } else if (key.equals("updates")) {
      state.update("2");
      what = "later call, updates the state and sets no timeout";
    }
    return Collections.singletonList(key + ": " + what).iterator();
  }
}
"""

folder = tempfile.mkdtemp()
# A delay of 100 s: the key "-" moves the watermark to 100 s, and to 200 s in the end.
both = [("reads", "x", 200), ("updates", "x", 200)]
batches = [[("-", "x", 200)], [*both, ("alone", "x", 200)], both, [("-", "x", 300)], [("-", "x", 300)]]

spark = spark_session()
jvm = spark._jvm
os.mkdir(f"{folder}/classes")
Path(f"{folder}/FirstCallSets.java").write_text(JAVA)
loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
compiler = jvm.org.codehaus.janino.Compiler()
compiler.setDestinationDirectory(jvm.java.io.File(f"{folder}/classes"), False)
compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
files = spark.sparkContext._gateway.new_array(jvm.java.io.File, 1)
files[0] = jvm.java.io.File(f"{folder}/FirstCallSets.java")
compiler.compile(files)
with zipfile.ZipFile(f"{folder}/first.jar", "w") as archive:
    for found in Path(f"{folder}/classes").glob("*.class"):
        archive.write(found, found.name)
loader.addURL(jvm.java.io.File(f"{folder}/first.jar").toURI().toURL())
spark.sparkContext._jsc.addJar(f"{folder}/first.jar")

rows = micro_batches(spark, batches)
text = jvm.org.apache.spark.sql.Encoders.STRING()
seen = (
    rows._jdf.groupByKey(loader.loadClass("FirstCallSets$Key").newInstance(), text)
    .flatMapGroupsWithState(
        loader.loadClass("FirstCallSets").newInstance(),
        jvm.org.apache.spark.sql.streaming.OutputMode.Append(),
        text,
        text,
        jvm.org.apache.spark.sql.streaming.GroupStateTimeout.EventTimeTimeout(),
    )
    .toDF()
)
told = [line for rows in collected(DataFrame(seen, spark)).values() for (line,) in rows]
later = sorted(line for line in told if "later call" in line and not line.startswith("-:"))
timed_out = sorted(line.partition(":")[0] for line in told if line.endswith(": timed out"))
says(
    "spark-timeout-reset-by-call",
    len(later) == 2 and timed_out == ["alone"],
    f"flatMapGroupsWithState of the JVM, each key's first call set a timeout; {'; '.join(later)}; the timeouts of "
    f"{timed_out} occurred",
)
spark.stop()
