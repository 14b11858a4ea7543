"""Reads Arrow tables through the PyCapsule interface, with nothing but the standard library and numpy.

Anything with ``__arrow_c_stream__`` (pyarrow, polars, duckdb, nanoarrow, …) hands out a pointer to the C stream interface. Its
structures are declared here with ctypes. Numbers without gaps are passed on as views, so a table is copied only once, where it
is kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import DataError

__all__ = ["read_stream"]


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", _ReleaseStream),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS: dict[str, str] = {
    "c": "i1",
    "C": "u1",
    "s": "i2",
    "S": "u2",
    "i": "i4",
    "I": "u4",
    "l": "i8",
    "L": "u8",
    "e": "f2",
    "f": "f4",
    "g": "f8",
}



class _Held:
    """Keeps the memory of the stream alive for as long as views of it are used."""

    def __init__(self) -> None:
        self.arrays: list[_Array] = []
        self.schema = _Schema()

    def release(self) -> None:
        for array in self.arrays:
            if array.release:
                array.release(ctypes.byref(array))
        self.arrays.clear()
        if self.schema.release:
            self.schema.release(ctypes.byref(self.schema))


def read_stream(
    table: Any, texts: frozenset[str], left_out: frozenset[str]
) -> tuple[list[str], list[Any], int, Any]:
    """Names, columns, the number of rows, and what must be kept until the columns have been copied.

    A column of numbers is a list of pieces (float64); one that is named in ``texts`` is a list with a text, a list of texts or
    ``None`` per row; those in ``left_out`` are empty.
    """
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = table.__arrow_c_stream__()
    stream = _Stream.from_address(get_pointer(capsule, b"arrow_array_stream"))
    held = _Held()
    try:
        _checked(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(held.schema)))
        if held.schema.format != b"+s":
            raise DataError("an Arrow stream of rows with named columns is needed: a table, not a single column")
        kinds = [held.schema.children[k].contents for k in range(held.schema.n_children)]
        names = [(kind.name or b"").decode() for kind in kinds]
        columns: list[list[Any]] = [[] for _ in kinds]
        rows = 0
        while True:
            array = _Array()
            _checked(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
            if not array.release:
                break
            held.arrays.append(array)
            rows += array.length
            for k, kind in enumerate(kinds):
                child = array.children[k].contents
                start = array.offset + child.offset
                if names[k] in left_out:
                    continue
                if names[k] in texts:
                    columns[k].extend(_texts(kind, child, start, array.length))
                else:
                    columns[k].append(_numbers(kind, child, start, array.length, names[k]))
    except BaseException:
        held.release()
        raise
    finally:
        if stream.release:
            stream.release(ctypes.byref(stream))
    return names, columns, rows, held


def _checked(stream: _Stream, code: int) -> None:
    if code != 0:
        message = stream.get_last_error(ctypes.byref(stream))
        raise DataError(f"the Arrow stream failed: {(message or b'no reason given').decode(errors='replace')}")


def _view(array: _Array, buffer: int, dtype: str, start: int, count: int) -> npt.NDArray[Any]:
    """``count`` items of a buffer from item ``start`` on."""
    kind = np.dtype(dtype)
    address = array.buffers[buffer]
    if count == 0 or not address:
        return np.empty(0, dtype=kind)
    raw = (ctypes.c_uint8 * (kind.itemsize * count)).from_address(address + kind.itemsize * start)
    found: npt.NDArray[Any] = np.frombuffer(memoryview(raw), dtype=kind)
    return found


def _bits(array: _Array, buffer: int, start: int, count: int) -> npt.NDArray[np.bool_]:
    first = start // 8
    packed = _view(array, buffer, "u1", first, (start + count + 7) // 8 - first)
    bits = np.unpackbits(packed, bitorder="little")
    return bits[start - 8 * first :][:count].astype(bool)


def _gaps(array: _Array, start: int, count: int) -> npt.NDArray[np.bool_] | None:
    """Which items are missing; ``None`` if none is."""
    if array.null_count == 0 or array.n_buffers == 0 or not array.buffers[0]:
        return None
    present = _bits(array, 0, start, count)
    return None if bool(present.all()) else ~present


def _numbers(kind: _Schema, array: _Array, start: int, count: int, name: str) -> npt.NDArray[np.float64]:
    form = (kind.format or b"").decode()
    if form == "n":
        return np.full(count, np.nan)
    if kind.dictionary or (form not in _NUMBERS and form != "b"):
        what = "categories" if kind.dictionary else f"the Arrow type {form!r}"
        raise DataError(
            f"column {name!r} has {what}, not numbers; convert it, or leave it out with Dataset(data, ignore=[{name!r}])"
        )
    values: npt.NDArray[Any]
    values = _bits(array, 1, start, count) if form == "b" else _view(array, 1, _NUMBERS[form], start, count)
    numbers = np.asarray(values, dtype=np.float64)
    gaps = _gaps(array, start, count)
    if gaps is not None:
        numbers = numbers.copy()
        numbers[gaps] = np.nan
    return numbers


def _texts(kind: _Schema, array: _Array, start: int, count: int) -> Iterator[Any]:
    form = (kind.format or b"").decode()
    gaps = _gaps(array, start, count)
    items: list[Any]
    if form == "n":
        items = [None] * count
    elif kind.dictionary:
        values = array.dictionary.contents
        words = list(_texts(kind.dictionary.contents, values, values.offset, values.length))
        places = _view(array, 1, _NUMBERS[form], start, count)
        present = np.ones(count, dtype=bool) if gaps is None else ~gaps
        items = [words[int(place)] if there else None for place, there in zip(places, present, strict=True)]
    elif form in ("u", "U"):
        offsets = _view(array, 1, "i4" if form == "u" else "i8", start, count + 1)
        letters = _view(array, 2, "u1", 0, int(offsets[-1])).tobytes() if count else b""
        items = [letters[offsets[k] : offsets[k + 1]].decode() for k in range(count)]
    elif form == "vu":
        items = list(_string_views(array, start, count))
    elif form in ("+l", "+L"):
        offsets = _view(array, 1, "i4" if form == "+l" else "i8", start, count + 1)
        inner, child = kind.children[0].contents, array.children[0].contents
        length = int(offsets[-1]) if count else 0
        words = list(_texts(inner, child, child.offset, length))
        items = [words[offsets[k] : offsets[k + 1]] for k in range(count)]
    else:
        raise DataError(f"the column of targets has the Arrow type {form!r}; texts or lists of texts are expected")
    if gaps is not None:
        items = [None if gap else item for item, gap in zip(items, gaps, strict=True)]
    return iter(items)


def _string_views(array: _Array, start: int, count: int) -> Iterator[str]:
    """Texts of at most 12 bytes stand in the view itself; of longer ones the view says where they are."""
    views = _view(array, 1, "u1", 16 * start, 16 * count).reshape(-1, 16)
    lengths = views[:, :4].copy().view("<i4").ravel()
    for view, length in zip(views, lengths, strict=True):
        if length <= 12:
            yield view[4 : 4 + length].tobytes().decode()
        else:
            buffer, offset = (int(number) for number in view[8:16].copy().view("<i4"))
            yield _view(array, 2 + buffer, "u1", offset, int(length)).tobytes().decode()
