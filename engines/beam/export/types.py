"""What exports write out of typed cells and typed keys on Beam, as the adapter has them."""

from __future__ import annotations

from conformance.model import types
from conformance.model.export import Exportable, literal

CODERS = "from apache_beam.coders import coders"
"""The module that has all of Beam's coders, some of which the package does not name."""


IMPORTS = ("from typing import NamedTuple, Optional", "from apache_beam.coders import RowCoder, registry")

ROWS = """
# Beam has a coder for keys of this type in a row alone.
Key = NamedTuple("Key", [{fields}])
registry.register_coder(Key, RowCoder)
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
    """The source of typed keys, as elements have them by their names; "" for none."""
    from conformance.engines.beam.pipelines.typed_keys import FIELDS, SCALARS

    if not (typed := asked.typed_keys):
        return ""
    kind, values = typed
    given = {name: literal(value) for name, value in values.items()}
    rows = ""
    if type(kind) not in SCALARS:
        fields = kind.fields if isinstance(kind, types.Struct) else (("value", kind),)
        named = {name: {**SCALARS, **FIELDS}[type(each)].__name__ for name, each in fields}
        hints = (
            f"({name!r}, {f'Optional[{of}]' if isinstance(kind, types.Struct) else of})" for name, of in named.items()
        )
        rows = ROWS.format(fields=", ".join(hints))
        given = {name: f"Key({'*' * isinstance(kind, types.Struct)}{value})" for name, value in given.items()}
    return f"{rows}KEYED = {{{', '.join(f'{name!r}: {value}' for name, value in given.items())}}}\n"


def handed(asked: Exportable) -> str:
    """The source of the key that a DoFn was handed."""
    from conformance.engines.beam.pipelines.typed_keys import FIELDS

    typed = asked.typed_keys
    return "key.value" if typed and type(typed[0]) in FIELDS else "key"
