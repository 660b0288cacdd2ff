package conformance.jvm;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapGroupsWithStateFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapGroupsWithStateFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.GroupState;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The JVM's operators with state, whose function is a neutral program in a Python process beside the executor. One process serves
 * one task at a time; it asks for state calls while a call lasts, and they are done at once, in its order.
 *
 * Written for Janino, which is what every Spark brings along: raw types, no lambdas.
 */
public final class Bridge implements java.io.Serializable {
  static final ObjectMapper JSON = new ObjectMapper();
  static final ConcurrentLinkedDeque IDLE = new ConcurrentLinkedDeque();
  static final ConcurrentHashMap BUSY = new ConcurrentHashMap();
  static final Timer CLOCK = new Timer("conformance: waiting for programs", true);

  final String job;
  final String python;
  final byte[] code;
  final String output;
  final long patience;
  final transient Encoder encoder;
  final transient Encoder keys;
  transient StructType outputType;

  /**
   * `output` is the schema of output rows, as JSON, and `encoder` theirs. `keys` is the encoder of the grouping key, which is JSON text, or
   * a row where there are typed keys. `patience` is how many ms a call may take.
   */
  public Bridge(
      String job, String python, byte[] code, String output, Encoder encoder, Encoder keys, long patience) {
    this.job = job;
    this.python = python;
    this.code = code;
    this.output = output;
    this.encoder = encoder;
    this.keys = keys;
    this.patience = patience;
  }

  /** What a program may ask for while a call lasts. */
  interface Operations {
    Object perform(String target, String method, List arguments) throws Exception;
  }

  /** A Python process that runs programs. */
  static final class Child {
    final Process process;
    final DataInputStream in;
    final DataOutputStream out;
    volatile boolean late;
    boolean lost;

    Child(String python) throws IOException {
      ProcessBuilder builder = new ProcessBuilder(new String[] {python, "-m", "conformance.engines.spark.jvm.child"});
      builder.redirectError(ProcessBuilder.Redirect.INHERIT);
      process = builder.start();
      in = new DataInputStream(new BufferedInputStream(process.getInputStream()));
      out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    }

    void send(byte[] frame) throws IOException {
      out.writeInt(frame.length);
      out.write(frame);
      out.flush();
    }

    Map receive() throws IOException {
      byte[] frame = new byte[in.readInt()];
      in.readFully(frame);
      return (Map) JSON.readValue(frame, Map.class);
    }
  }

  /** Ends a process that gives no answer, so that the task that waits for it fails. */
  static final class Impatience extends TimerTask {
    final Child child;

    Impatience(Child child) {
      this.child = child;
    }

    public void run() {
      child.late = true;
      child.process.destroyForcibly();
    }
  }

  /** Gives a task's process back when the task has ended. One that is lost may be alive still, since a process closes its pipes first. */
  static final class Release implements TaskCompletionListener {
    public void onTaskCompletion(TaskContext task) {
      Child child = (Child) BUSY.remove(Long.valueOf(task.taskAttemptId()));
      if (child != null && !child.lost && child.process.isAlive()) {
        IDLE.addFirst(child);
      }
    }
  }

  private Child child() throws IOException {
    TaskContext task = TaskContext.get();
    Long id = Long.valueOf(task.taskAttemptId());
    Child child = (Child) BUSY.get(id);
    if (child == null) {
      child = (Child) IDLE.pollFirst();
      if (child == null || !child.process.isAlive()) {
        child = new Child(python);
      }
      BUSY.put(id, child);
      task.addTaskCompletionListener((TaskCompletionListener) new Release());
    }
    return child;
  }

  /** Run one call of the program that the key names, and return what it puts out. */
  List call(String kind, Object key, Map request, Operations operations) throws Exception {
    TaskContext task = TaskContext.get();
    request.put("job", job);
    request.put("kind", kind);
    request.put("key", key instanceof Row ? Values.told(key, ((Row) key).schema()) : key);
    request.put("task", Long.valueOf(task.taskAttemptId()));
    request.put("partition", Integer.valueOf(task.partitionId()));
    request.put("attempt", Integer.valueOf(task.attemptNumber()));
    Child child = child();
    Impatience impatience = new Impatience(child);
    CLOCK.schedule(impatience, patience);
    Map answer;
    try {
      child.send(JSON.writeValueAsBytes(request));
      answer = child.receive();
      while (answer.get("out") == null && answer.get("error") == null) {
        if (answer.get("load") != null) {
          child.send(code);
        } else {
          child.send(JSON.writeValueAsBytes(performed((List) answer.get("do"), operations)));
        }
        answer = child.receive();
      }
    } catch (IOException gone) {
      child.lost = true;
      String what = child.late ? "gave no answer within " + patience + " ms" : "ended in the middle of a call";
      throw new RuntimeException("\nEngineFault: " + caseOf(key) + "the program's process " + what);
    } finally {
      impatience.cancel();
    }
    if (answer.get("error") != null) {
      throw new RuntimeException("the program's process failed:\n" + answer.get("error"));
    }
    return rows((List) answer.get("out"));
  }

  private static String caseOf(Object key) throws IOException {
    Object named = key instanceof Row ? ((Row) key).get(1) : ((Map) JSON.readValue((String) key, Map.class)).get("case");
    return "[case " + named + "] ";
  }

  private static Map performed(List asked, Operations operations) {
    HashMap result = new HashMap();
    try {
      List arguments = asked.subList(2, asked.size());
      result.put("result", operations.perform((String) asked.get(0), (String) asked.get(1), arguments));
    } catch (Throwable error) {
      result.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
    }
    return result;
  }

  private List rows(List answered) {
    if (outputType == null) {
      outputType = (StructType) DataType.fromJson(output);
    }
    ArrayList rows = new ArrayList();
    for (int n = 0; n < answered.size(); n++) {
      List values = (List) answered.get(n);
      Object[] fields = new Object[outputType.fields().length]; // a column that no program fills is null
      for (int i = 0; i < values.size(); i++) {
        Object value = values.get(i);
        boolean whole = value != null && outputType.fields()[i].dataType().typeName().equals("long");
        fields[i] = whole ? (Object) Long.valueOf(((Number) value).longValue()) : value;
      }
      rows.add(RowFactory.create(fields));
    }
    return rows;
  }

  /** An input row as the program's process takes it; times in ms. */
  static List input(Row row) {
    ArrayList values = new ArrayList();
    for (int i = 1; i < row.length(); i++) {
      Object value = row.get(i);
      values.add(value instanceof java.sql.Timestamp ? (Object) Long.valueOf(((java.sql.Timestamp) value).getTime()) : value);
    }
    return values;
  }

  /** The calls on the state of one group. */
  static final class OnGroup implements Operations {
    final GroupState state;
    final Crossing crossing;

    OnGroup(GroupState state, Crossing crossing) {
      this.state = state;
      this.crossing = crossing;
    }

    public Object perform(String target, String method, List arguments) {
      if (method.equals("update")) {
        state.update(crossing.made(arguments.get(0)));
        return crossing.told(state.get());
      } else if (method.equals("remove")) {
        state.remove();
      } else if (method.equals("setTimeoutTimestamp")) {
        state.setTimeoutTimestamp(((Number) arguments.get(0)).longValue());
      } else if (method.equals("setTimeoutDuration")) {
        state.setTimeoutDuration(((Number) arguments.get(0)).longValue());
      } else {
        throw new IllegalArgumentException("no method " + method);
      }
      return null;
    }
  }

  List group(String kind, Object key, Iterator given, GroupState state, Crossing crossing) throws Exception {
    HashMap request = new HashMap();
    ArrayList rows = new ArrayList();
    while (given.hasNext()) {
      rows.add(input((Row) given.next()));
    }
    request.put("rows", rows);
    request.put("state", state.exists() ? crossing.told(state.get()) : null);
    request.put("timed_out", Boolean.valueOf(state.hasTimedOut()));
    request.put("now", Long.valueOf(state.getCurrentProcessingTimeMs()));
    try {
      request.put("watermark", Long.valueOf(state.getCurrentWatermarkMs()));
    } catch (UnsupportedOperationException none) {
      request.put("watermark", null);
    }
    return call(kind, key, request, new OnGroup(state, crossing));
  }

  static final class Many implements FlatMapGroupsWithStateFunction {
    final Bridge bridge;
    final Crossing crossing;

    Many(Bridge bridge, Crossing crossing) {
      this.bridge = bridge;
      this.crossing = crossing;
    }

    public Iterator call(Object key, Iterator rows, GroupState state) throws Exception {
      return bridge.group("groups", key, rows, state, crossing).iterator();
    }
  }

  static final class One implements MapGroupsWithStateFunction {
    final Bridge bridge;
    final Crossing crossing;

    One(Bridge bridge, Crossing crossing) {
      this.bridge = bridge;
      this.crossing = crossing;
    }

    public Object call(Object key, Iterator rows, GroupState state) throws Exception {
      return bridge.group("group", key, rows, state, crossing).get(0);
    }
  }

  static final class Second implements MapFunction {
    public Object call(Object row) {
      return ((Row) row).get(1);
    }
  }

  static final class First implements MapFunction {
    public Object call(Object row) {
      return ((Row) row).get(0);
    }
  }

  /** Rows grouped by their first column. */
  KeyValueGroupedDataset grouped(Dataset rows) {
    return rows.groupByKey((MapFunction) new First(), keys);
  }

  static GroupStateTimeout timeout(String name) {
    if (name.equals("NoTimeout")) {
      return GroupStateTimeout.NoTimeout();
    }
    return name.equals("EventTimeTimeout")
        ? GroupStateTimeout.EventTimeTimeout()
        : GroupStateTimeout.ProcessingTimeTimeout();
  }

  /** Groups and the states that they start with. */
  KeyValueGroupedDataset states(Dataset initial, Crossing state) {
    return grouped(initial).mapValues((MapFunction) new Second(), state.encoder);
  }

  /** `initial` is what groups start with, or null. */
  public Dataset mapGroupsWithState(Dataset rows, String timeout, Crossing state, Dataset initial) {
    MapGroupsWithStateFunction function = (MapGroupsWithStateFunction) new One(this, state);
    KeyValueGroupedDataset groups = grouped(rows);
    return initial == null
        ? groups.mapGroupsWithState(function, state.encoder, encoder, timeout(timeout))
        : groups.mapGroupsWithState(function, state.encoder, encoder, timeout(timeout), states(initial, state));
  }

  /** `initial` is what groups start with, or null. */
  public Dataset flatMapGroupsWithState(Dataset rows, String timeout, Crossing state, Dataset initial) {
    FlatMapGroupsWithStateFunction function = (FlatMapGroupsWithStateFunction) new Many(this, state);
    KeyValueGroupedDataset groups = grouped(rows);
    OutputMode mode = OutputMode.Append();
    return initial == null
        ? groups.flatMapGroupsWithState(function, mode, state.encoder, encoder, timeout(timeout))
        : groups.flatMapGroupsWithState(
            function, mode, state.encoder, encoder, timeout(timeout), states(initial, state));
  }
}
