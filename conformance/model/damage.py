"""Damage to what a job keeps for a restart, by name. What a job keeps: who it is, what it planned, what it did, where
it is in its input, and its state, with the form of that."""

from conformance.model.case import Case

DAMAGES = {
    "identity gone": "does not say which job it is of",
    "identity cut short": "says half of which job it is of",
    "last plan gone": "lacks the last bundle that was planned",
    "last plan cut short": "has half of the last bundle that was planned",
    "all plans gone": "has nothing of what was planned",
    "last done gone": "lacks that the last bundle was done",
    "last done cut short": "has half of the note that the last bundle was done",
    "all done gone": "has nothing of what was done",
    "place gone": "does not say where the job is in its input",
    "last state gone": "lacks the last state of a partition",
    "last state cut short": "has half of the last state of a partition",
    "all state gone": "has no state",
    "form gone": "does not say what form its state has",
    "states exchanged": "has the states of two partitions exchanged",
}
"""Name -> what is then true of what the job kept."""


def damage_of(case: Case) -> str:
    """The damage that a case of a damaged job is about: the value of its first element, or the element's key where that
    is the name of one. "" for none."""
    first = case.schedule.arrivals[0].event
    return next((name for name in (first.value, first.key) if name in DAMAGES), "")
