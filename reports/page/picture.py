"""The picture of a case: event time against steps, with the watermark as a line, the input and the output.

The axis of event time keeps the order of times and not their distances, so that 1 ms can be seen. Labels give the
distance (ms) of each time from the first watermark.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from conformance.model.schedule import Advance, Deliver, Schedule, Step
from conformance.model.trace import DRAIN, Emission
from conformance.model.values import Json, canonical, spelled
from conformance.reports.page.panels import Panel
from conformance.reports.templating import file_text
from conformance.reports.words import amount, legal, met, relative, shortened
from conformance.support.grouping import grouped

STYLE = file_text("picture.css")

LIGHT = dict(re.findall(r"--(\w+): light-dark\((#\w+)", file_text("page.css")))
"""The colours of a page on a light ground."""

LEFT, TOP, LINE, CHAR = 64, 40, 15, 6.7
"""Sizes in px: room for labels at the left and top, the distance of lines of text, a character's width."""

LEVELS = range(13, 23)
"""The distances (px) that levels of event time may have: the least keeps their labels apart."""

LEVELS_HEIGHT = 176
"""The height (px) that all levels share while they have more than the least distance."""

LONGEST = 34
"""The most characters of an emission to show. Its tooltip and the text have the whole emission."""

LEGEND = (
    ("on-time", "event, on time"),
    ("at", "at the watermark"),
    ("late", "behind the watermark"),
    ("output", "output of a bundle"),
    ("fired", "output when the watermark moved (a timer, a window)"),
    ("stopped", "the program stopped"),
    ("differs", "first difference"),
)


MARKS = {"on time": "on-time", "at the watermark": "at", "behind": "late"}
"""The mark of an element, by how it met the watermark."""


def inline(panel: Panel) -> str:
    """The picture as an SVG element, for a page with STYLE and the colours."""
    return ElementTree.tostring(_drawn(panel), encoding="unicode")


def document(found: Iterable[Panel]) -> str:
    """Panels side by side, with a legend, as an SVG file."""
    drawn = [_drawn(panel) for panel in found]
    height = max(int(d.get("height", "0")) for d in drawn)
    width, placed = 8, []
    for d in drawn:
        d.set("x", str(width))
        placed.append(d)
        width += int(d.get("width", "0")) + 16
    rows, needed, tall = _legend(max(width, 600))
    width = max(width, needed)
    colours = ";".join(f"--{name}:{value}" for name, value in LIGHT.items() if f"var(--{name})" in STYLE)
    root = _element("svg", xmlns="http://www.w3.org/2000/svg", of="picture", width=width, height=height + 20 + tall)
    _add(root, "style").text = f"svg{{{colours}}}{STYLE}"
    _add(root, "rect", width="100%", height="100%", fill=LIGHT["page"])
    root.extend(placed)
    rows.set("transform", f"translate(8 {height + 16})")
    root.append(rows)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def legend() -> str:
    """The legend as an SVG element."""
    rows, width, height = _legend(600)
    root = _element("svg", of="picture", width=width, height=height + 8, role="img")
    root.set("aria-label", "Legend: the line is the watermark; " + ", ".join(text for _, text in LEGEND))
    rows.set("transform", "translate(4 14)")
    root.append(rows)
    return ElementTree.tostring(root, encoding="unicode")


def _legend(most: float) -> tuple[Element, int, int]:
    """(rows, width, height) of the legend, broken at a width."""
    group, x, y, widest = Element("g"), 0.0, 0, 0.0
    for kind, text in (("watermark", "watermark"), *LEGEND):
        width = 14 + len(text) * CHAR + 20
        if x and x + width > most:
            x, y = 0.0, y + 18
        if kind == "watermark":
            _add(group, "path", of=kind, d=f"M{x:.0f} {y - 4}h9")
        else:
            _mark(group, kind, x + 5, y - 4)
        _text(group, x + 14, y, text)
        x += width
        widest = max(widest, x)
    return group, int(widest), y + 18


@dataclass(frozen=True)
class _Column:
    """A step, its place, and its output."""

    step: Step | None
    left: float
    width: float
    out: tuple[Emission, ...]

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    @property
    def right(self) -> float:
        return self.left + self.width


def _drawn(panel: Panel) -> Element:
    schedule = panel.schedule
    columns = _columns(panel)
    times = sorted({a.event.event_time for a in schedule.arrivals} | {a.watermark for a in schedule.advances})
    apart = min(max(LEVELS_HEIGHT // max(1, len(times)), LEVELS[0]), LEVELS[-1])
    floor = TOP + 12 + apart * len(times)
    level = {time: floor - apart * (n + 1) for n, time in enumerate(times)}
    keys = sorted({a.event.key for a in schedule.arrivals} | {e.key for e in panel.trace.emissions})
    if panel.lacks and panel.lacks[1] not in keys:
        keys = sorted([*keys, panel.lacks[1]])
    lanes, bottom = {}, floor + 24
    for key in keys:
        deepest = max((sum(e.key == key for e in column.out) for column in columns), default=0)
        lanes[key] = bottom
        bottom += LINE * max(1, deepest + (panel.lacks is not None and panel.lacks[1] == key)) + 8
    width = columns[-1].right + 10
    root = _element("svg", of="picture", width=max(width, LEFT + len(panel.title) * 7), height=bottom + 4, role="img")
    root.set("aria-label", _described(panel))
    _text(root, 2, 14, panel.title, "title")
    _bands(root, columns, floor, bottom)
    _add(root, "path", of="level", d="".join(f"M{LEFT} {level[time]}H{width:.0f}" for time in times))
    labels = _add(root, "g", of="small", text_anchor="end")
    for time in times:
        _text(labels, LEFT - 5, level[time] + 4, relative(time, schedule))
    _watermark(root, columns, level, floor, width)
    for column in columns:
        _events(root, column, schedule, level)
    for key, y in lanes.items():
        _add(root, "path", of="lane", d=f"M2 {y - 5}H{width:.0f}")
        _text(root, 2, y + 8, shortened(f"out, {spelled(key)}", 10), "small")
        for column in columns:
            _outputs(root, column, [e for e in column.out if e.key == key], panel, key, y)
    return root


def _columns(panel: Panel) -> list[_Column]:
    out = grouped((emission.step, emission) for emission in panel.trace.emissions)
    columns, left = [], float(LEFT)
    steps: list[Step | None] = [*panel.schedule.steps, *([None] if DRAIN in out else [])]
    for step in steps:
        mine = tuple(out.get(step.id if step else DRAIN, ()))
        texts = [shortened(said(e), LONGEST) for e in mine]
        lacks = ["nothing"] if panel.lacks and step and step.id == panel.lacks[0] else []
        widest = max((len(text) for text in [*texts, *lacks]), default=0) * CHAR + 24
        events = 30 + 34 * len(step.events) if isinstance(step, Deliver) else 0
        named = len(_named(step)) * 5.6 + 8
        columns.append(_Column(step, left, max(44, widest, events, named), mine))
        left = columns[-1].right + 3
    return columns


def _named(step: Step | None) -> str:
    """A step's name above its column."""
    return step.label if step else "end of stream"


def _bands(root: Element, columns: list[_Column], floor: int, bottom: int) -> None:
    names = _element("g", of="small", text_anchor="middle")
    for column in columns:
        if isinstance(column.step, Deliver):
            _add(root, "rect", of="bundle", x=column.left, y=TOP - 4, width=column.width, height=bottom - TOP)
        elif column.step and not isinstance(column.step, Advance):  # the line of the watermark shows an advance
            _add(root, "path", of="cut", d=f"M{column.middle:.0f} {TOP - 4}V{floor}")
        _text(names, column.middle, TOP - 9, _named(column.step))
    root.append(names)


def _watermark(root: Element, columns: list[_Column], level: dict[int, int], floor: int, width: float) -> None:
    """A line that rises where the watermark moves, and the area behind it."""
    line, last = "", 0.0
    for column in columns:
        if isinstance(column.step, Advance):
            y = level[column.step.watermark]
            line += f"M{column.middle:.0f} {floor}V{y}" if not line else f"H{column.middle:.0f}V{y}"
            last = last or column.middle
    _add(root, "path", of="behind", d=f"{line}H{width:.0f}V{floor}Z")
    _add(root, "path", of="watermark", d=f"{line}H{width:.0f}")


def _events(root: Element, column: _Column, schedule: Schedule, level: dict[int, int]) -> None:
    if not isinstance(column.step, Deliver) or not column.step.events:
        return
    arrivals = [a for a in schedule.arrivals if a.step == column.step.id]
    apart = column.width / len(arrivals)
    for number, arrival in enumerate(arrivals):
        event = arrival.event
        x, y = column.left + apart * (number + 0.5) - 8, level[event.event_time]
        mark = _mark(root, MARKS[met(arrival)], x, y)
        value = "" if event.value is None else f", value {canonical(event.value)}"
        _tooltip(mark, f"{event.id}, key {spelled(event.key)}, at {event.event_time} ms{value}: {met(arrival)}")
        _text(root, x + 7, y + 4, shortened(f"{event.id} {spelled(event.key)}", 8))


def _outputs(root: Element, column: _Column, mine: list[Emission], panel: Panel, key: str, top: int) -> None:
    x = column.left + 9
    for number, emission in enumerate(mine):
        y = top + 8 + LINE * number
        mark = _mark(root, _kind(emission, column.step), x, y - 4)
        at = "" if emission.event_time is None else f", at {emission.event_time} ms"
        _tooltip(mark, f"{said(emission)}{at}")
        _text(root, x + 9, y, shortened(said(emission), LONGEST))
        if emission is panel.differs:
            _boxed(root, x - 8, y, len(shortened(said(emission), LONGEST)))
    if panel.lacks and column.step and (column.step.id, key) == panel.lacks:
        y = top + 8 + LINE * len(mine)
        _text(root, x + 9, y, "nothing", "of-differs")
        _boxed(root, x - 8, y, len("nothing"))


def _boxed(root: Element, x: float, y: float, characters: int) -> None:
    _add(root, "rect", of="differs", x=x, y=y - 11, width=characters * CHAR + 22, height=15)


def _kind(emission: Emission, step: Step | None) -> str:
    if emission.error:
        return "stopped"
    if step is None:
        return "drained"
    return "fired" if isinstance(step, Advance) else "output"


def _mark(parent: Element, kind: str, x: float, y: float) -> Element:
    if kind in ("on-time", "at"):
        return _add(parent, "circle", of=kind, cx=x, cy=y, r="4.5")
    shapes = {
        "late": "m-4 -4l8 8m0 -8l-8 8",
        "fired": "m0 -5l5 5l-5 5l-5 -5z",
        "stopped": "m-5 4h10l-5 -9z",
        "differs": "m-6 -5h12v10h-12z",
    }
    return _add(parent, "path", of=kind, d=f"M{x:.0f} {y:.0f}{shapes.get(kind, 'm-4 -4h8v8h-8z')}")


def _tooltip(element: Element, text: str) -> None:
    _add(element, "title").text = legal(text)


def _text(parent: Element, x: float, y: float, text: str, kind: str = "") -> None:
    _add(parent, "text", x=x, y=y, of=kind).text = legal(text)


def _add(parent: Element, name: str, **given: str | float) -> Element:
    """A new element at the end of another one."""
    parent.append(made := _element(name, **given))
    return made


def _element(name: str, **given: str | float) -> Element:
    """An element of the class ``of`` with these attributes. Numbers are in whole px."""
    names = {key: "class" if key == "of" else key.replace("_", "-") for key in given}
    told = {names[key]: value if isinstance(value, str) else f"{value:.0f}" for key, value in given.items()}
    return Element(name, {key: value for key, value in told.items() if value})


def said(emission: Emission) -> str:
    """An emission in few words: the fields of its value, or the error that stopped the program."""
    if emission.error:
        return f"stopped: {emission.error}"
    if isinstance(emission.value, dict):
        return ", ".join(f"{name} {_plain(value)}" for name, value in sorted(emission.value.items()))
    return _plain(emission.value)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value).replace('"', "")


def _described(panel: Panel) -> str:
    """The content of the picture in a sentence. The text beside the picture has every detail."""
    counts = [
        (len(panel.schedule.arrivals), "event"),
        (len(panel.schedule.bundles), "bundle"),
        (len(panel.schedule.advances), "watermark advance"),
        (len(panel.trace.emissions), "output"),
    ]
    told = ", ".join(f"{amount(n, what)}" for n, what in counts)
    if panel.differs:
        told += f"; first difference: key {spelled(panel.differs.key)} gave {said(panel.differs)}"
    elif panel.lacks:
        told += f"; first difference: key {spelled(panel.lacks[1])} gave nothing in step {panel.lacks[0]}"
    return legal(f"Timeline {panel.title}: {told}")
