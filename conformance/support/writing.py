"""Writing files: a file is there whole, or is what it was before, and an error says which file it was."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What the system says where a disk, a quota or a file is full, or a disk fails: the input of the command is not at
fault."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What is done here concerns this file: an OSError without a file's name gets its name, and the system's own
    words."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            words = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(error.errno, words, str(path)) from error
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file, text as UTF-8, under another name beside it, which is then renamed. Folders are made. Raises
    OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with naming(path):
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
