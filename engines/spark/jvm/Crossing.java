package conformance.jvm;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.types.StructType;

/** What a state is, and its way to the program's process and back: rows of a schema, or JSON text where that is null. */
public final class Crossing implements java.io.Serializable {
  final StructType schema;
  final transient Encoder encoder;

  public Crossing(StructType schema, Encoder encoder) {
    this.schema = schema;
    this.encoder = encoder;
  }

  public static Crossing ofText() {
    return new Crossing(null, Encoders.STRING());
  }

  Object made(Object told) {
    return schema == null ? ((List) told).get(0) : Values.made(told, schema);
  }

  Object told(Object value) {
    return schema == null ? Collections.singletonList(value) : Values.told(value, schema);
  }
}
