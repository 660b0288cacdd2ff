"""Bugs of bags, maps and sets."""

from unicodedata import normalize

from conformance.engines.mutants.registry import cell_bug, cell_bug_of
from conformance.engines.mutants.state.keys import as_number
from conformance.engines.reference_cells import Bag, Map, Set
from conformance.model.program import Cell
from conformance.model.values import Json, canonical


@cell_bug_of(Bag.get, "a bag is read in reverse", Cell.BAG)
def bag_read_in_reverse(cell: Bag, default: Json = None) -> Json:
    return cell._all()[::-1]


@cell_bug_of(Bag.get, "a bag is read in the order of its elements' values", Cell.BAG)
def bag_read_sorted(cell: Bag, default: Json = None) -> Json:
    return sorted(cell._all(), key=canonical)


@cell_bug_of(Bag.add, "an append to a bag replaces what was in it", Cell.BAG)
def bag_append_overwrites(cell: Bag, value: Json) -> None:
    cell.set([value])


@cell_bug_of(Bag.add, "an append to a bag adds its element twice", Cell.BAG)
def bag_appends_twice(cell: Bag, value: Json) -> None:
    Bag.add(cell, value)
    Bag.add(cell, value)


@cell_bug_of(Bag.add, "a bag keeps one of several equal elements", Cell.BAG)
def bag_drops_equal_elements(cell: Bag, value: Json) -> None:
    if value not in cell._all():
        Bag.add(cell, value)


@cell_bug_of(Bag.clear, "clearing a bag leaves its elements", Cell.BAG)
def clear_of_a_bag_does_nothing(cell: Bag) -> None:
    pass


@cell_bug("what is put into a bag in the call that clears it is cleared as well", Cell.BAG)
class ClearOfABagComesLast(Bag):
    _cleared = False

    def clear(self) -> None:
        self._cleared = True
        super().clear()

    def add(self, value: Json) -> None:
        if not self._cleared:
            super().add(value)


@cell_bug_of(Map.put, "a put to an entry that is there changes nothing", Cell.MAP)
def map_put_keeps_the_first(cell: Map, key: str, value: Json) -> None:
    if key not in cell._all():
        Map.put(cell, key, value)


@cell_bug_of(Map.put, "a put drops all other entries", Cell.MAP)
def map_put_replaces_all(cell: Map, key: str, value: Json) -> None:
    cell.set({key: value})


@cell_bug_of(Map.remove, "removing an entry leaves it", Cell.MAP)
def map_remove_does_nothing(cell: Map, key: str) -> None:
    pass


@cell_bug_of(Map.remove, "a removed entry is still listed, without a value", Cell.MAP)
def map_remove_leaves_a_null(cell: Map, key: str) -> None:
    cell.put(key, None)


@cell_bug_of(Map.remove, "removing an entry removes all of them", Cell.MAP)
def map_remove_clears(cell: Map, key: str) -> None:
    cell.clear()


@cell_bug("a put to an entry that is there adds another one of its name", Cell.MAP)
class MapPutAddsAnEntry(Map):
    def put(self, key: str, value: Json) -> None:
        had = key in self._all()
        super().put(key, value)
        if had:
            self._doubled().append([key, value])

    def _doubled(self) -> list[Json]:
        found: list[Json] = self._cells.setdefault(f"{self._name} doubled", [])
        return found

    def items(self) -> list[tuple[str, Json]]:
        return [*super().items(), *((key, value) for key, value in self._doubled())]


@cell_bug("an entry that was removed and put again is given with its old value, too", Cell.MAP)
class MapKeepsWhatWasPutAgain(Map):
    def remove(self, key: str) -> None:
        removed = [[k, v] for k, v in self._all().items() if k == key]
        self._cells[f"{self._name} removed"] = [*self._removed(), *removed]
        super().remove(key)

    def _removed(self) -> list[Json]:
        found: list[Json] = self._cells.get(f"{self._name} removed", [])
        return found

    def items(self) -> list[tuple[str, Json]]:
        there = self._all()
        return [*super().items(), *((key, value) for key, value in self._removed() if key in there)]


@cell_bug("going through a map turns its order round each time", Cell.MAP)
class MapIteratedInAnotherOrderEachTime(Map):
    _turn = 1

    def items(self) -> list[tuple[str, Json]]:
        self._turn = -self._turn
        return super().items()[:: self._turn]


@cell_bug_of(Map.put, "entries whose names are the same without blanks, case and number formats are one", Cell.MAP)
def map_names_normalised(cell: Map, key: str, value: Json) -> None:
    same = [other for other in cell._all() if _plain(other) == _plain(key)]
    Map.put(cell, same[0] if same else key, value)


@cell_bug_of(Set.add, "elements that are the same without blanks, case and number formats are one", Cell.SET)
def set_elements_normalised(cell: Set, value: str) -> None:
    if not any(_plain(other) == _plain(value) for other in cell._all()):
        Set.add(cell, value)


def _plain(text: str) -> str:
    return as_number(normalize("NFC", text).strip().casefold())


@cell_bug_of(Map.clear, "clearing a map leaves its entries", Cell.MAP)
def clear_of_a_map_does_nothing(cell: Map) -> None:
    pass


@cell_bug_of(Set.add, "adding an element that is there adds another one", Cell.SET)
def set_holds_duplicates(cell: Set, value: str) -> None:
    cell.set([*cell._all(), value])


@cell_bug_of(Set.add, "adding an element that is there removes it", Cell.SET)
def set_add_toggles(cell: Set, value: str) -> None:
    if value in cell._all():
        cell.set([element for element in cell._all() if element != value])
    else:
        Set.add(cell, value)


@cell_bug_of(Set.clear, "clearing a set leaves its elements", Cell.SET)
def clear_of_a_set_does_nothing(cell: Set) -> None:
    pass
