"""The next version of port_index_assignment_fixed.py: its state variable has another name."""

from dataclasses import replace

import port_index_assignment_fixed as before


class AssignIndexProcessor(before.AssignIndexProcessor):
    def init(self, handle):
        self.index = handle.getValueState("next_index", "n long")


PORT = replace(before.PORT, spark=replace(before.PORT.spark, processor=AssignIndexProcessor))
