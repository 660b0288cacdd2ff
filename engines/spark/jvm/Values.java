package conformance.jvm;

import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * Values of Spark's types on the way to a program's process and back, as JSON that the type alone gives a meaning to (crossing.py has the
 * other end): a float or a double as its bits, a decimal as its text, a binary in base 64, a date as days and a timestamp as microseconds
 * since the epoch, a struct and an array as lists, and a map as a list of pairs.
 */
final class Values {
  private Values() {}

  /** What a program's process is told of a value. */
  static Object told(Object value, DataType type) {
    if (value == null) {
      return null;
    }
    if (type instanceof StructType) {
      ArrayList found = new ArrayList();
      for (int i = 0; i < ((StructType) type).fields().length; i++) {
        found.add(told(((Row) value).get(i), ((StructType) type).fields()[i].dataType()));
      }
      return found;
    }
    if (type instanceof ArrayType) {
      // what GroupState holds before the call ends is what it was given (Spark 4.3.0)
      Object[] elements = value instanceof Object[] ? (Object[]) value : elements((scala.collection.Seq) value);
      ArrayList found = new ArrayList();
      for (int i = 0; i < elements.length; i++) {
        found.add(told(elements[i], ((ArrayType) type).elementType()));
      }
      return found;
    }
    if (type instanceof MapType) {
      ArrayList found = new ArrayList();
      scala.collection.Iterator entries = ((scala.collection.Map) value).iterator();
      while (entries.hasNext()) {
        Tuple2 entry = (Tuple2) entries.next();
        ArrayList pair = new ArrayList();
        pair.add(told(entry._1(), ((MapType) type).keyType()));
        pair.add(told(entry._2(), ((MapType) type).valueType()));
        found.add(pair);
      }
      return found;
    }
    if (value instanceof Double) {
      return Long.valueOf(Double.doubleToRawLongBits(((Double) value).doubleValue()));
    }
    if (value instanceof Float) {
      return Integer.valueOf(Float.floatToRawIntBits(((Float) value).floatValue()));
    }
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof byte[]) {
      return Base64.getEncoder().encodeToString((byte[]) value);
    }
    if (value instanceof Timestamp) {
      return Long.valueOf(DateTimeUtils.fromJavaTimestamp((Timestamp) value));
    }
    return value instanceof Date ? (Object) Integer.valueOf(DateTimeUtils.fromJavaDate((Date) value)) : value;
  }

  private static Object[] elements(scala.collection.Seq found) {
    Object[] elements = new Object[found.length()];
    scala.collection.Iterator each = found.iterator();
    for (int i = 0; i < elements.length; i++) {
      elements[i] = each.next();
    }
    return elements;
  }

  /** The value that a program's process told of. */
  static Object made(Object told, DataType type) {
    if (told == null) {
      return null;
    }
    if (type instanceof StructType) {
      Object[] fields = new Object[((List) told).size()];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = made(((List) told).get(i), ((StructType) type).fields()[i].dataType());
      }
      return RowFactory.create(fields);
    }
    if (type instanceof ArrayType) {
      Object[] elements = new Object[((List) told).size()];
      for (int i = 0; i < elements.length; i++) {
        elements[i] = made(((List) told).get(i), ((ArrayType) type).elementType());
      }
      return elements;
    }
    if (type instanceof MapType) {
      scala.collection.mutable.LinkedHashMap found = new scala.collection.mutable.LinkedHashMap();
      for (int i = 0; i < ((List) told).size(); i++) {
        List pair = (List) ((List) told).get(i);
        found.put(made(pair.get(0), ((MapType) type).keyType()), made(pair.get(1), ((MapType) type).valueType()));
      }
      return found;
    }
    if (type instanceof DecimalType) {
      return new BigDecimal((String) told);
    }
    String name = type.typeName();
    if (name.equals("integer")) {
      return Integer.valueOf(((Number) told).intValue());
    }
    if (name.equals("long")) {
      return Long.valueOf(((Number) told).longValue());
    }
    if (name.equals("double")) {
      return Double.valueOf(Double.longBitsToDouble(((Number) told).longValue()));
    }
    if (name.equals("float")) {
      return Float.valueOf(Float.intBitsToFloat(((Number) told).intValue()));
    }
    if (name.equals("binary")) {
      return Base64.getDecoder().decode((String) told);
    }
    if (name.equals("timestamp")) {
      return DateTimeUtils.toJavaTimestamp(((Number) told).longValue());
    }
    return name.equals("date") ? (Object) DateTimeUtils.toJavaDate(((Number) told).intValue()) : told;
  }
}
