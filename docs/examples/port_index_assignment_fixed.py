"""The port of port_index_assignment.py without its bug: it counts the index up within a micro-batch, too."""

from dataclasses import replace

import port_index_assignment as ported
from pyspark.sql import Row


class AssignIndexProcessor(ported.AssignIndexProcessor):
    def handleInputRows(self, key, rows, timerValues):
        current = self.index.get()[0] if self.index.exists() else 0
        for row in rows:
            yield Row(user=key[0], value=row.value, index=current)
            current += 1
        self.index.update((current,))


PORT = replace(ported.PORT, spark=replace(ported.PORT.spark, processor=AssignIndexProcessor))
