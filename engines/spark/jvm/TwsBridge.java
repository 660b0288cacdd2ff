package conformance.jvm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.StatefulProcessorWithInitialState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** The JVM's transformWithState (Spark 4.0 and later) over a Bridge. */
public final class TwsBridge extends StatefulProcessorWithInitialState {
  final Bridge bridge;
  final List names;
  final List kinds;
  final List ttls;
  final List schemas;
  final String timeMode;
  transient HashMap variables;
  transient HashMap crossings;

  /**
   * `names`, `kinds`, `ttls` and `schemas` declare the state variables: a kind is value, list or map; a TTL is ms of processing time, 0 for
   * none; schemas are those of a map's keys and values, or of the only kind of row, and none where the variable keeps JSON text.
   * `timeMode` is EventTime, ProcessingTime or None.
   */
  public TwsBridge(Bridge bridge, List names, List kinds, List ttls, List schemas, String timeMode) {
    this.bridge = bridge;
    this.names = new ArrayList(names);
    this.kinds = new ArrayList(kinds);
    this.ttls = new ArrayList(ttls);
    this.schemas = new ArrayList();
    for (int i = 0; i < schemas.size(); i++) {
      this.schemas.add(new ArrayList((List) schemas.get(i)));
    }
    this.timeMode = timeMode;
  }

  TimeMode time() {
    if (timeMode.equals("None")) {
      return TimeMode.None();
    }
    return timeMode.equals("ProcessingTime") ? TimeMode.ProcessingTime() : TimeMode.EventTime();
  }

  TTLConfig ttl(int variable) {
    long ms = ((Number) ttls.get(variable)).longValue();
    return ms == 0 ? TTLConfig.NONE() : new TTLConfig(Duration.ofMillis(ms));
  }

  /** The processing time, where the query has one. */
  Object now(TimerValues times) {
    return timeMode.equals("ProcessingTime") ? (Object) Long.valueOf(times.getCurrentProcessingTimeInMs()) : Integer.valueOf(-1);
  }

  public void init(OutputMode mode, TimeMode time) {
    variables = new HashMap();
    crossings = new HashMap();
    StatefulProcessorHandle handle = getHandle();
    for (int i = 0; i < names.size(); i++) {
      String name = (String) names.get(i);
      List declared = (List) schemas.get(i);
      Crossing first = crossing(declared, 0);
      Crossing last = crossing(declared, declared.size() - 1);
      crossings.put(name, new Crossing[] {first, last});
      if (kinds.get(i).equals("list")) {
        variables.put(name, handle.getListState(name, first.encoder, ttl(i)));
      } else if (kinds.get(i).equals("map")) {
        variables.put(name, handle.getMapState(name, first.encoder, last.encoder, ttl(i)));
      } else {
        variables.put(name, handle.getValueState(name, first.encoder, ttl(i)));
      }
    }
  }

  /** A state variable of rows of a schema, or of JSON text where there is none. */
  static Crossing crossing(List declared, int which) {
    if (declared.isEmpty()) {
      return Crossing.ofText();
    }
    StructType schema = StructType.fromDDL((String) declared.get(which));
    return new Crossing(schema, Encoders.row(schema));
  }

  /** The calls on the state variables and the timers of the key at hand. */
  static final class OnHandle implements Bridge.Operations {
    final StatefulProcessorHandle handle;
    final HashMap variables;
    final HashMap crossings;

    OnHandle(StatefulProcessorHandle handle, HashMap variables, HashMap crossings) {
      this.handle = handle;
      this.variables = variables;
      this.crossings = crossings;
    }

    public Object perform(String target, String method, List arguments) {
      if (method.equals("registerTimer")) {
        handle.registerTimer(((Number) arguments.get(0)).longValue());
        return null;
      }
      if (method.equals("deleteTimer")) {
        handle.deleteTimer(((Number) arguments.get(0)).longValue());
        return null;
      }
      Object variable = variables.get(target);
      Crossing[] crossing = (Crossing[]) crossings.get(target);
      if (variable instanceof ValueState) {
        return value((ValueState) variable, crossing[0], method, arguments);
      }
      return variable instanceof ListState
          ? list((ListState) variable, crossing[0], method, arguments)
          : map((MapState) variable, crossing[0], crossing[1], method, arguments);
    }

    static Object value(ValueState state, Crossing rows, String method, List arguments) {
      if (method.equals("get")) {
        return state.exists() ? rows.told(state.get()) : null;
      }
      if (method.equals("update")) {
        state.update(rows.made(arguments.get(0)));
      } else {
        state.clear();
      }
      return null;
    }

    static Object list(ListState state, Crossing rows, String method, List arguments) {
      if (method.equals("get")) {
        ArrayList found = new ArrayList();
        scala.collection.Iterator values = state.get();
        while (values.hasNext()) {
          found.add(rows.told(values.next()));
        }
        return found;
      }
      if (method.equals("appendValue")) {
        state.appendValue(rows.made(arguments.get(0)));
      } else if (method.equals("put")) {
        Object[] made = ((List) arguments.get(0)).toArray();
        for (int i = 0; i < made.length; i++) {
          made[i] = rows.made(made[i]);
        }
        state.put(made);
      } else {
        state.clear();
      }
      return null;
    }

    static Object map(MapState state, Crossing keys, Crossing values, String method, List arguments) {
      if (method.equals("getValue")) {
        Object key = keys.made(arguments.get(0));
        return state.containsKey(key) ? values.told(state.getValue(key)) : null;
      }
      if (method.equals("iterator")) {
        ArrayList found = new ArrayList();
        scala.collection.Iterator entries = state.iterator();
        while (entries.hasNext()) {
          Tuple2 entry = (Tuple2) entries.next();
          ArrayList pair = new ArrayList();
          pair.add(keys.told(entry._1()));
          pair.add(values.told(entry._2()));
          found.add(pair);
        }
        return found;
      }
      if (method.equals("updateValue")) {
        state.updateValue(keys.made(arguments.get(0)), values.made(arguments.get(1)));
      } else if (method.equals("removeKey")) {
        state.removeKey(keys.made(arguments.get(0)));
      } else {
        state.clear();
      }
      return null;
    }
  }

  private scala.collection.Iterator call(Object key, HashMap request) {
    try {
      List out = bridge.call("tws", key, request, new OnHandle(getHandle(), variables, crossings));
      return CollectionConverters.asScala(out.iterator());
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new RuntimeException(error);
    }
  }

  public scala.collection.Iterator handleInputRows(Object key, scala.collection.Iterator given, TimerValues times) {
    HashMap request = new HashMap();
    ArrayList rows = new ArrayList();
    while (given.hasNext()) {
      rows.add(Bridge.input((Row) given.next()));
    }
    request.put("rows", rows);
    request.put("now", now(times));
    return call(key, request);
  }

  public void handleInitialState(Object key, Object initial, TimerValues times) {
    HashMap request = new HashMap();
    ArrayList rows = new ArrayList();
    rows.add(Bridge.input((Row) initial));
    request.put("rows", rows);
    request.put("initial", Boolean.TRUE);
    call(key, request);
  }

  public scala.collection.Iterator handleExpiredTimer(Object key, TimerValues times, ExpiredTimerInfo timer) {
    HashMap request = new HashMap();
    request.put("time", Long.valueOf(timer.getExpiryTimeInMs()));
    request.put("now", now(times));
    return call(key, request);
  }

  /** `initial` is what keys start with, or null. */
  public static Dataset transformWithState(Dataset rows, TwsBridge processor, Dataset initial) {
    if (initial != null) {
      return processor.bridge.grouped(rows)
          .transformWithState(
              (StatefulProcessorWithInitialState) processor,
              processor.time(),
              OutputMode.Append(),
              processor.bridge.grouped(initial),
              processor.bridge.encoder,
              initial.encoder());
    }
    return processor.bridge.grouped(rows)
        .transformWithState(
            (StatefulProcessor) processor, processor.time(), OutputMode.Append(), processor.bridge.encoder);
  }
}
