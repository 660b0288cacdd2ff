"""What exports write out of typed cells and typed keys on Beam, as the adapter has them."""

from __future__ import annotations

from conformance.model import types
from conformance.model.export import Exportable

CODERS = "from apache_beam.coders import coders"
"""The module that has all of Beam's coders, some of which the package does not name."""


IMPORTS = ("from typing import NamedTuple, Optional", "from apache_beam.coders import RowCoder, registry")

KEYED = """
KEYED = {{name: exchanged(value, datetime, to_beam) for name, value in KEYS.items()}}

def handed(key):  # the key that a DoFn was handed
    return exchanged(key, Timestamp, from_beam)
"""

KEYED_BY_ROWS = """
# Beam has a coder for keys of this type in a row alone.
Key = NamedTuple("Key", [{fields}])
registry.register_coder(Key, RowCoder)
KEYED = {{name: Key({given}) for name, value in KEYS.items()}}

def handed(key):  # the key that a DoFn was handed
    return {handed}
"""


def coder(kind: types.Type) -> str:
    """The source of Beam's coder of a type, as the adapter has it."""
    from conformance.engines.beam.pipelines.typed_cells import SCALARS

    if isinstance(kind, types.Array):
        return f"coders.ListCoder(coders.NullableCoder({coder(kind.element)}))"
    if isinstance(kind, types.Map):
        return f"coders.MapCoder({coder(kind.key)}, coders.NullableCoder({coder(kind.value)}))"
    if isinstance(kind, types.Struct):
        return f"coders.TupleCoder([{', '.join(f'coders.NullableCoder({coder(each)})' for _, each in kind.fields)}])"
    return f"coders.{SCALARS[type(kind)].__name__}()"


def hint(asked: Exportable) -> str:
    """The source of the hint of the keys' type."""
    from conformance.engines.beam.pipelines.typed_keys import SCALARS

    if not (typed := asked.typed_keys):
        return "str"
    return SCALARS[type(typed[0])].__name__ if type(typed[0]) in SCALARS else "Key"


def keys(asked: Exportable) -> str:
    """The source of typed keys, as the adapter has them: put into elements, and taken from what a DoFn is handed."""
    from conformance.engines.beam.pipelines.typed_keys import FIELDS, SCALARS

    if not (typed := asked.typed_keys):
        return ""
    kind = typed[0]
    if type(kind) in SCALARS:
        return KEYED.format().lstrip()
    if isinstance(kind, types.Struct):
        within = [(name, {**SCALARS, **FIELDS}[type(each)].__name__) for name, each in kind.fields]
        fields = ", ".join(f"({name!r}, Optional[{hint}])" for name, hint in within)
        return KEYED_BY_ROWS.format(fields=fields, given="*value", handed="key").lstrip()
    given = "exchanged(value, datetime, to_beam)"
    fields = f'("value", {FIELDS[type(kind)].__name__})'
    return KEYED_BY_ROWS.format(
        fields=fields, given=given, handed="exchanged(key.value, Timestamp, from_beam)"
    ).lstrip()
