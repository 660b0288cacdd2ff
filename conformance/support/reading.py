"""Reading users' files: a file that cannot be read is refused in a line."""

import gzip
import json
import sys
import zlib
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class BadInput(ValueError):
    """The input of a command cannot be used. The message says in one line which, and why. A command that meets it ends
    with exit code 2."""


def text_of(path: Path, refused: type[ValueError]) -> str:
    """The text of a file, unzipped if its name ends in ``.gz``. Raises ``refused`` where the file cannot be read or is
    not text."""
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except FileNotFoundError:
        raise refused(f"cannot read {path}: there is no such file") from None
    except IsADirectoryError:
        raise refused(f"cannot read {path}: it is a folder, name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise refused(f"cannot read {path}: it is not a whole zipped file: {error}") from None
    except OSError as error:
        raise refused(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise refused(f"cannot read {path}: it is no text") from None


def json_of(path: Path, refused: type[ValueError]) -> Any:
    """The value in a JSON file. Raises ``refused`` where the file cannot be read or is not JSON."""
    return value_of(text_of(path, refused), path, refused)


def value_of(text: str, name: Path | str, refused: type[ValueError]) -> Any:
    """The value of a JSON text, which messages call ``name``. Raises ``refused`` where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(f"{name} is not JSON: {error}") from None


def tables_of(text: str, name: Path | str, refused: type[ValueError]) -> dict[str, Any]:
    """The tables of a TOML text, which messages call ``name``. Raises ``refused`` where it is not TOML."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
        return found
    except tomllib.TOMLDecodeError as error:
        raise refused(f"{name} is not TOML: {error}") from None
