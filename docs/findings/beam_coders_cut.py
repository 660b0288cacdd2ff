"""Beam 2.77.0: the coder of a decimal keeps 28 digits, and the coder of a timestamp keeps milliseconds.

Both go through their coder and back. What a bundle has written into state with such a coder, another bundle reads so,
on each runner that encodes state. Beam refuses neither value. A time before 1970 is cut downwards.
"""

from decimal import Decimal

from apache_beam.coders import TimestampCoder
from apache_beam.coders.coders import DecimalCoder
from apache_beam.utils.timestamp import Timestamp

for text in ("1.500", "12345678901234567890.123456789012345678"):
    print("decimal", text, "comes back as", DecimalCoder().decode(DecimalCoder().encode(Decimal(text))))
for micros in (1_774_747_800_123_456, -1):
    print(
        f"{micros} µs comes back as "
        f"{TimestampCoder().decode(TimestampCoder().encode(Timestamp(micros=micros))).micros} µs"
    )
