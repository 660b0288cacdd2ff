"""The export "spark" for applyInPandasWithState: a program on the one state and the one timeout of a key. An export
holds the source of what it needs from here."""

from conformance.engines.spelled_out import EngineCalls
from conformance.model.export import CannotExport, Exportable
from conformance.model.program import Cell

GROUPS = "spark-fmgws-pandas"

CALL = """applyInPandasWithState(handled, "row string", "state string", "append", "EventTimeTimeout")"""

CALLS = EngineCalls(
    {
        (Cell.VALUE, "get"): "json.loads(state.get(cell, json.dumps(a)))",
        (Cell.VALUE, "set"): "state.update({cell: json.dumps(a)})",
        (Cell.COMBINING, "get"): "state.get(cell, 0)",
        (Cell.COMBINING, "add"): "state.update({cell: state.get(cell, 0) + a})",
        (Cell.BAG, "get"): "list(state.get(cell, []))",
        (Cell.BAG, "add"): "state.setdefault(cell, []).append(a)",
        (Cell.BAG, "set"): "state.update({cell: list(a)})",
        (Cell.MAP, "get"): "state.get(cell, {}).get(a, b)",
        (Cell.MAP, "put"): "state.setdefault(cell, {}).update({a: b})",
        (Cell.MAP, "remove"): "state.get(cell, {}).pop(a, None)",
        (Cell.MAP, "items"): "list(state.get(cell, {}).items())",
        (Cell.SET, "get"): "list(state.get(cell, {}))",
        (Cell.SET, "add"): "state.setdefault(cell, {}).update({a: None})",
        **{(kind, "clear"): "state.pop(cell, None)" for kind in Cell},
        (None, "set"): "timers.update({f'{a}/{c}': b})",
        (None, "clear"): "timers.pop(f'{a}/{b}', None)",
    }
)
"""What a program's calls are on its cells and on the times of its timers, which are in the state of a group as JSON."""

FUNCTION = """
def handled(key, frames, group):  # cells and timers are in the one state, and the timeout is that of the earliest timer
    kept, times = json.loads(group.get[0]) if group.exists else [dict(), dict()]
    watermark, found = group.getCurrentWatermarkMs(), []
    while group.hasTimedOut and (due := sorted((time, name) for name, time in times.items() if time < watermark)):
        time, name = due[0]
        del times[name]
        timer = SimpleNamespace(name=name.split("/")[0], tag=name.partition("/")[2], key={key}, time=time)
        found += outputs(PROGRAM.on_timer, timer, kept, times)
    rows = () if group.hasTimedOut else (row for frame in frames for row in frame.itertuples() if row.id)
    for row in rows:  # those without an id move the watermark
        event = SimpleNamespace(id=row.id, key={handed}, value=json.loads(row.value), event_time=int(row.ms))
        found += outputs(PROGRAM.on_event, event, kept, times)
    if any(kept.values()) or times:
        group.update((json.dumps([kept, times]),))
    elif group.exists:
        group.remove()
    if times:  # a timeout before the watermark is refused
        group.setTimeoutTimestamp(max(min(times.values()), watermark))
    yield pd.DataFrame(dict(row=[json.dumps(row) for row in found]))
"""


def function(asked: Exportable, key: str, handed: str) -> str:
    """The source of the state function; ``key`` is the source of the key's name, ``handed`` that of a row's key. Raises
    CannotExport for cells of a type."""
    if asked.program.types:
        raise CannotExport(
            f"witness {asked.witness}: its program needs cells of a type, which an export for {GROUPS} does not have"
        )
    return FUNCTION.format(key=key, handed=handed)
