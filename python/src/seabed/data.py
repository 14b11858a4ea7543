"""Measurements and who was intervened on: :class:`Dataset`, from whatever table they are in."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ._arrow import read_stream
from ._frames import frame_of
from ._progress import Progress, shown
from ._seabed import Table
from ._settings import as_json
from .errors import DataError, SeabedWarning, SettingsError

__all__ = ["TARGETS_COLUMN", "Dataset", "DataLike", "as_dataset", "complete", "reading_json"]

#: The column that says who was intervened on: empty for an observation, else the names of the targets joined by ``;``.
TARGETS_COLUMN = "intervention_targets"

#: What :class:`Dataset` is made from.
DataLike: TypeAlias = Any


class Dataset:
    """Samples of the variables, each with the set of variables that were set in it.

    Parameters
    ----------
    data : DataFrame, Arrow table, array, mapping, or list of dicts
        One column per variable, one row per sample: a pandas or polars DataFrame, anything with ``__arrow_c_stream__``, a numpy
        array of shape (rows, variables), a mapping from names to columns, or a list of dicts. Numbers are kept as float64 and
        copied once. Missing cells are NaN: they are held, and rows with them are set aside by whoever learns from the data,
        with a warning.
    interventions : optional
        Who was set in which row. By default the column ``intervention_targets`` says so (names joined by ``;``, empty for an
        observation), and without that column everything was observed. Else a boolean mask of shape (rows, variables), or one
        item per row: a list of names, a text as in the column, or None. The values that were set stand in the variables'
        own columns.
    names : sequence of str, optional
        The names of the variables, for an array; X1, X2, … by default.
    ignore : sequence of str
        Columns to leave out.

    Raises
    ------
    DataError
        If a column has no numbers, a target is no variable, a name is used twice, or there are no rows.

    See Also
    --------
    Dataset.read : From a file, .csv or .parquet.

    Examples
    --------
    >>> import pandas as pd, seabed
    >>> frame = pd.DataFrame({"dose": [0.1, 0.9, 2.0], "growth": [0.3, 1.7, 4.2]})
    >>> data = seabed.Dataset(frame, interventions=[None, None, ["dose"]])
    >>> data
    Dataset: 3 rows (1 with interventions) of 2 variables: dose, growth
    >>> data.to_pandas()["intervention_targets"].tolist()
    ['', '', 'dose']
    """

    __slots__ = ("_notes", "_table")
    _table: Table
    #: What was guessed or looked unusual when it was read from a file.
    _notes: list[str]

    def __init__(
        self,
        data: DataLike,
        *,
        interventions: Any = None,
        names: Sequence[str] | None = None,
        ignore: Iterable[str] = (),
    ) -> None:
        left_out = _names_list(ignore, "ignore")
        self._notes = []
        if isinstance(data, Dataset):
            data = data.to_pandas()
        if isinstance(data, (str, os.PathLike)):
            raise DataError(f"{data!r} is the name of a file; read it with seabed.Dataset.read")
        found, columns, targets, rows, kept = _columns(data, names, frozenset(left_out))
        missing = [name for name in left_out if name not in found and name != TARGETS_COLUMN]
        if missing:
            raise DataError(f"ignore: there is no column {missing[0]!r}; the columns are {', '.join(found)}")
        wanted = [k for k, name in enumerate(found) if name not in left_out]
        if TARGETS_COLUMN in left_out:
            targets = None
        names_ = [found[k] for k in wanted]
        if not names_:
            raise DataError("there are no variables; at least one column of numbers is needed")
        given = targets if interventions is None else interventions
        sets, set_of_row = _target_sets(given, names_, rows)
        try:
            self._table = Table.from_columns(names_, [columns[k] for k in wanted], sets, set_of_row)
        finally:
            if kept is not None:
                kept.release()

    @classmethod
    def _of(cls, table: Table, notes: list[str] | None = None) -> Dataset:
        dataset = cls.__new__(cls)
        dataset._table = table
        dataset._notes = notes or []
        return dataset

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        ignore: Iterable[str] = (),
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing: Iterable[str] = (),
        progress: Progress = None,
    ) -> Dataset:
        """The data of a file, read as the command ``seabed`` reads it.

        Missing cells are NaN, as from any other table: empty ones, ``NA``, ``n.d.`` and the like, and values of which only a
        bound is known (``<0.5``).

        Parameters
        ----------
        path : path
            A .csv, .tsv, .txt, .xlsx or .parquet file, with the column ``intervention_targets`` if anything was set.
        ignore : sequence of str
            Columns to leave out.
        separator, decimal, encoding : str, optional
            How a text is written: comma, semicolon, tab, bar or space; point or comma; utf-8, utf-16 or latin-1. Found out by
            default.
        sheet : str, optional
            The sheet of a workbook; by default the first that is not empty.
        missing : sequence of str
            Texts that stand for a missing value, besides the usual ones.
        progress : bool or callable, optional
            ``True`` for a bar, or a function of (done, all, what).

        Returns
        -------
        Dataset
            What the file holds; what was guessed or looks unusual about it is a warning (``SeabedWarning``).

        Examples
        --------
        >>> import seabed
        >>> seabed.worlds.er(nodes=3, seed=1).sample(5).write("five.csv")
        >>> len(seabed.Dataset.read("five.csv"))
        5
        """
        options = reading_json(ignore, separator, decimal, encoding, sheet, missing)
        with shown(progress) as callback:
            table, said = Table.read(os.fspath(path), options, callback)
        for sentence in said:
            warnings.warn(sentence, SeabedWarning, stacklevel=2)
        return cls._of(table, said)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a .csv or .parquet file, completely or not at all. Missing cells are NaN there, too.

        Parameters
        ----------
        path : path
            Its name decides on the format.

        Examples
        --------
        >>> import seabed
        >>> seabed.Dataset({"a": [1.0, 2.0]}).write("a.parquet")
        """
        self._table.write(os.fspath(path))

    @property
    def names(self) -> list[str]:
        """The names of the variables, in order."""
        return self._table.names

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, variables)."""
        return self._table.rows, len(self._table.names)

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self._table.missing

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """A copy of all values, of shape (rows, variables), in the units of the data; missing ones are NaN."""
        columns = [self._table.column(k) for k in range(len(self.names))]
        return np.column_stack(columns) if columns else np.empty((len(self), 0))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Who was set in which row, of shape (rows, variables)."""
        place = {name: k for k, name in enumerate(self.names)}
        sets = self._table.target_sets()
        masks = np.zeros((len(sets), len(place)), dtype=bool)
        for k, members in enumerate(sets):
            masks[k, [place[name] for name in members]] = True
        chosen: npt.NDArray[np.bool_] = masks[self._table.set_of_row()]
        return chosen

    @property
    def targets(self) -> list[tuple[str, ...]]:
        """For every row the names of the variables that were set; an empty tuple for an observation."""
        sets = [tuple(members) for members in self._table.target_sets()]
        return [sets[k] for k in self._table.set_of_row()]

    def to_pandas(self) -> pd.DataFrame:
        """The data as a DataFrame, with the column ``intervention_targets`` last.

        Returns
        -------
        DataFrame
            One row per sample, numbers in float64.

        Examples
        --------
        >>> import seabed
        >>> seabed.Dataset({"a": [1.0, 2.0]}).to_pandas().columns.tolist()
        ['a', 'intervention_targets']
        """
        frame = frame_of({name: self._table.column(k) for k, name in enumerate(self.names)})
        texts = np.array([";".join(members) for members in self._table.target_sets()], dtype=object)
        frame[TARGETS_COLUMN] = texts[self._table.set_of_row()]
        return frame

    def dropna(self) -> Dataset:
        """The rows without missing cells, which are those that :func:`fit` learns from.

        Examples
        --------
        >>> import seabed
        >>> len(seabed.Dataset({"a": [1.0, None, 3.0]}).dropna())
        2
        """
        return Dataset._of(self._table.complete()[0], self._notes)

    def append(self, other: DataLike, *, interventions: Any = None) -> Dataset:
        """This data set with the rows of another one below, matched by name.

        Parameters
        ----------
        other : Dataset or what one is made from
            The same variables, in any order.
        interventions : optional
            As for :class:`Dataset`.

        Examples
        --------
        >>> import seabed
        >>> one = seabed.Dataset({"a": [1.0], "b": [2.0]})
        >>> len(one.append({"b": [4.0], "a": [3.0]}, interventions=[["a"]]))
        2
        """
        below = as_dataset(other, interventions)
        if self.missing == 0 and below.missing == 0:
            return Dataset._of(self._table.appended(below._table))
        if sorted(self.names) != sorted(below.names):
            raise DataError(f"the variables differ: {', '.join(self.names)} and {', '.join(below.names)}")
        return Dataset(pd.concat([self.to_pandas(), below.to_pandas()], ignore_index=True))

    def __len__(self) -> int:
        return self._table.rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        same = self.names == other.names and self.targets == other.targets
        return same and bool(np.array_equal(self.values, other.values, equal_nan=True))

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows, set_ = len(self), int(self.mask.any(axis=1).sum())
        names = self.names
        listed = ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
        gaps = f", {self.missing} missing cells" if self.missing else ""
        return f"Dataset: {rows} rows ({set_} with interventions) of {len(names)} variables: {listed}{gaps}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_pandas().head(5).to_html(index=False)}"

    def __reduce__(self) -> tuple[Any, ...]:
        columns = [self._table.column(k) for k in range(len(self.names))]
        return _unpickled, (self.names, columns, self._table.target_sets(), self._table.set_of_row(), self._notes)


def _unpickled(
    names: list[str],
    columns: list[npt.NDArray[np.float64]],
    sets: list[list[str]],
    rows: npt.NDArray[np.uint32],
    notes: list[str] | None = None,
) -> Dataset:
    return Dataset._of(Table.from_columns(names, [[column] for column in columns], sets, rows), notes)


def as_dataset(data: DataLike, interventions: Any = None) -> Dataset:
    """The data as a :class:`Dataset`, made if they are not one."""
    if isinstance(data, Dataset) and interventions is None:
        return data
    return Dataset(data, interventions=interventions)


def complete(data: Dataset, *, stacklevel: int = 3) -> Dataset:
    """The rows without missing cells; that others are set aside is a warning, as of the command."""
    if data.missing == 0:
        return data
    table, said = data._table.complete()
    for sentence in said:
        warnings.warn(sentence, SeabedWarning, stacklevel=stacklevel)
    return Dataset._of(table, [*data._notes, *said])


def reading_json(
    ignore: Iterable[str],
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    sheet: str | None,
    missing: Iterable[str],
) -> str:
    """How a file is read, in the form that the extension takes."""
    return as_json(
        {
            "ignore": _names_list(ignore, "ignore"),
            "separator": separator,
            "decimal": decimal,
            "encoding": encoding,
            "sheet": sheet,
            "missing": [str(text) for text in ([missing] if isinstance(missing, str) else missing)],
        }
    )


def _names_list(names: Iterable[str], what: str) -> list[str]:
    if isinstance(names, str):
        return [names]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise SettingsError(f"{what}: give a list of names")
    return listed


#: Names, columns in pieces (none of those to leave out), the column of targets, the number of rows, and what must be kept until all is copied.
_Parts: TypeAlias = "tuple[list[str], list[list[npt.NDArray[np.float64]]], Any, int, Any]"


def _columns(data: Any, names: Sequence[str] | None, left_out: frozenset[str]) -> _Parts:
    if isinstance(data, pd.Series) or (isinstance(data, np.ndarray) and data.ndim != 2):
        raise DataError("a table is needed: rows are samples and columns are variables")
    if isinstance(data, np.ndarray):
        return _of_array(data, names)
    if names is not None:
        raise SettingsError("names: only an array needs names; the columns of other tables have their own")
    if isinstance(data, pd.DataFrame):
        return _of_pandas(data, left_out)
    if hasattr(data, "__arrow_c_stream__"):
        found, columns, rows, kept = read_stream(data, frozenset([TARGETS_COLUMN]), left_out)
        at = found.index(TARGETS_COLUMN) if TARGETS_COLUMN in found else None
        targets = None if at is None else columns.pop(at)
        if at is not None:
            found.pop(at)
        return found, columns, targets, rows, kept
    if isinstance(data, Mapping):
        return _of_pandas(_frame(dict(data)), left_out)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        if not all(isinstance(row, Mapping) for row in data):
            raise DataError("a list of rows must be a list of dicts: {name: value, …}; for an array use numpy")
        if len(data) == 0:
            raise DataError("there are no rows; at least one sample is needed")
        return _of_pandas(_frame(list(data)), left_out)
    raise DataError(
        f"{type(data).__name__} is no table: give a DataFrame, an Arrow table, an array, a dict or a list of dicts"
    )


def _frame(data: Any) -> pd.DataFrame:
    try:
        return frame_of(data)
    except ValueError as error:
        raise DataError(f"these columns are no table: {error}") from error


def _of_array(data: npt.NDArray[Any], names: Sequence[str] | None) -> _Parts:
    rows, variables = data.shape
    found = [f"X{k + 1}" for k in range(variables)] if names is None else [str(name) for name in names]
    if len(found) != variables:
        raise DataError(f"names: the array has {variables} columns, but {len(found)} names are given")
    if not (np.issubdtype(data.dtype, np.number) or data.dtype == bool) or np.iscomplexobj(data):
        try:
            data = data.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the array has values that are no numbers: {error}") from error
    numbers = np.asarray(data, dtype=np.float64)
    return found, [[numbers[:, k]] for k in range(variables)], None, rows, None


def _of_pandas(frame: pd.DataFrame, left_out: frozenset[str]) -> _Parts:
    if frame.columns.nlevels > 1:
        raise DataError("the columns have several levels; give each one name")
    labels = [str(label) for label in frame.columns]
    at = labels.index(TARGETS_COLUMN) if TARGETS_COLUMN in labels else None
    columns = [
        [] if name in left_out else [_pandas_column(frame.iloc[:, k], name)]
        for k, name in enumerate(labels)
        if k != at
    ]
    found = [name for k, name in enumerate(labels) if k != at]
    targets = None if at is None else frame.iloc[:, at]
    return found, columns, targets, len(frame), None


def _pandas_column(column: pd.Series[Any], name: str) -> npt.NDArray[np.float64]:
    kind = column.dtype
    if kind == np.float64:
        return column.to_numpy()
    try:
        if kind == object:
            # Decimal, int and None among others, but no texts: "1.5" may be a mistake further up.
            texts = [value for value in column if isinstance(value, str)]
            if texts:
                raise ValueError(f"the text {texts[0]!r}")
            column = pd.to_numeric(column)
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
            raise ValueError(f"values of the type {kind}")
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"column {name!r} has {error}, not numbers only; convert it, or leave it out with Dataset(data, ignore=[{name!r}])"
        ) from error


def _target_sets(given: Any, names: list[str], rows: int) -> tuple[list[list[str]], npt.NDArray[np.uint32]]:
    """The distinct sets of targets, and for every row the number of its set."""
    if given is None:
        return [[]], np.zeros(rows, dtype=np.uint32)
    mask = _as_mask(given, names)
    if mask is not None:
        if mask.shape != (rows, len(names)):
            raise DataError(
                f"interventions: the mask has shape {mask.shape}, but the data have shape {(rows, len(names))}"
            )
        found, numbers = np.unique(mask, axis=0, return_inverse=True)
        sets = [[names[k] for k in np.flatnonzero(row)] for row in found]
        return sets, numbers.reshape(-1).astype(np.uint32)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DataError("interventions: give a mask, or one list of names per row (None for an observation)")
    known: dict[Any, int] = {}
    listed: list[list[str]] = []
    number_of: list[int] = []
    for item in given:
        key = item if isinstance(item, str) else _as_key(item)
        if key not in known:
            known[key] = len(listed)
            listed.append(_members(key))
        number_of.append(known[key])
    if len(number_of) != rows:
        raise DataError(f"interventions: there are {rows} rows, but {len(number_of)} sets of targets")
    return listed, np.asarray(number_of, dtype=np.uint32)


def _as_mask(given: Any, names: list[str]) -> npt.NDArray[np.bool_] | None:
    if isinstance(given, pd.DataFrame):
        unknown = [str(label) for label in given.columns if str(label) not in names]
        if unknown:
            raise DataError(f"interventions: the mask has a column {unknown[0]!r}, which is no variable")
        given = given.reindex(columns=names, fill_value=False).to_numpy()
    if isinstance(given, np.ndarray) and given.ndim == 2:
        if given.dtype != bool:
            if not bool(np.isin(given, [0, 1]).all()):
                raise DataError("interventions: a mask holds True and False only")
            given = given.astype(bool)
        found: npt.NDArray[np.bool_] = given
        return found
    return None


def _as_key(item: Any) -> Any:
    if item is None or item is pd.NA or (isinstance(item, float) and np.isnan(item)):
        return ""
    if isinstance(item, Iterable):
        members = tuple(item)
        if all(isinstance(member, str) for member in members):
            return members
    raise DataError(f"interventions: {item!r} is no set of targets; give a list of names, or None")


def _members(key: str | tuple[str, ...]) -> list[str]:
    parts = key.split(";") if isinstance(key, str) else list(key)
    return [part.strip() for part in parts if part.strip()]
