"""Bugs of bags, maps and sets."""

from __future__ import annotations

from unicodedata import normalize

from conformance.engines.mutants.registry import cell_bug
from conformance.engines.mutants.state.keys import as_number
from conformance.engines.reference_cells import Bag, Map, Set
from conformance.model.program import Cell
from conformance.model.values import Json, canonical


@cell_bug("a bag is read in reverse", Cell.BAG)
class BagReadInReverse(Bag):
    def get(self, default: Json = None) -> Json:
        return self._all()[::-1]


@cell_bug("a bag is read in the order of its elements' values", Cell.BAG)
class BagReadSorted(Bag):
    def get(self, default: Json = None) -> Json:
        return sorted(self._all(), key=canonical)


@cell_bug("an append to a bag replaces what was in it", Cell.BAG)
class BagAppendOverwrites(Bag):
    def add(self, value: Json) -> None:
        self.set([value])


@cell_bug("an append to a bag adds its element twice", Cell.BAG)
class BagAppendsTwice(Bag):
    def add(self, value: Json) -> None:
        super().add(value)
        super().add(value)


@cell_bug("a bag keeps one of several equal elements", Cell.BAG)
class BagDropsEqualElements(Bag):
    def add(self, value: Json) -> None:
        if value not in self._all():
            super().add(value)


@cell_bug("clearing a bag leaves its elements", Cell.BAG)
class ClearOfABagDoesNothing(Bag):
    def clear(self) -> None:
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


@cell_bug("a put to an entry that is there changes nothing", Cell.MAP)
class MapPutKeepsTheFirst(Map):
    def put(self, key: str, value: Json) -> None:
        if key not in self._all():
            super().put(key, value)


@cell_bug("a put drops all other entries", Cell.MAP)
class MapPutReplacesAll(Map):
    def put(self, key: str, value: Json) -> None:
        self.set({key: value})


@cell_bug("removing an entry leaves it", Cell.MAP)
class MapRemoveDoesNothing(Map):
    def remove(self, key: str) -> None:
        pass


@cell_bug("a removed entry is still listed, without a value", Cell.MAP)
class MapRemoveLeavesANull(Map):
    def remove(self, key: str) -> None:
        self.put(key, None)


@cell_bug("removing an entry removes all of them", Cell.MAP)
class MapRemoveClears(Map):
    def remove(self, key: str) -> None:
        self.clear()


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


@cell_bug("entries whose names are the same without blanks, case and number formats are one", Cell.MAP)
class MapNamesNormalised(Map):
    def put(self, key: str, value: Json) -> None:
        same = [other for other in self._all() if _plain(other) == _plain(key)]
        super().put(same[0] if same else key, value)


@cell_bug("elements that are the same without blanks, case and number formats are one", Cell.SET)
class SetElementsNormalised(Set):
    def add(self, value: str) -> None:
        if not any(_plain(other) == _plain(value) for other in self._all()):
            super().add(value)


def _plain(text: str) -> str:
    return as_number(normalize("NFC", text).strip().casefold())


@cell_bug("clearing a map leaves its entries", Cell.MAP)
class ClearOfAMapDoesNothing(Map):
    def clear(self) -> None:
        pass


@cell_bug("adding an element that is there adds another one", Cell.SET)
class SetHoldsDuplicates(Set):
    def add(self, value: str) -> None:
        self.set([*self._all(), value])


@cell_bug("adding an element that is there removes it", Cell.SET)
class SetAddToggles(Set):
    def add(self, value: str) -> None:
        if value in self._all():
            self.set([element for element in self._all() if element != value])
        else:
            super().add(value)


@cell_bug("clearing a set leaves its elements", Cell.SET)
class ClearOfASetDoesNothing(Set):
    def clear(self) -> None:
        pass
