"""Files that are either complete or not there."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from .errors import FileError

__all__ = ["read_bytes", "write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes to a temporary file beside, which is synced and only then renamed."""
    place = Path(path)
    try:
        part = place.parent / f".seabed-{uuid.uuid4().hex}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, place)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise FileError(f"{place} cannot be written: {error.strerror or error}") from error


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: {error.strerror or error}") from error
