"""Data from any table and back: nothing is lost, whatever the table."""

from __future__ import annotations

import pickle
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import seabed

pl = pytest.importorskip("polars", reason="polars is not installed, so nothing is tested with it")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed, so nothing is tested with it")
pytest.importorskip("hypothesis", reason="hypothesis is not installed, so nothing is tested with it")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters=";", exclude_categories=("C", "Z")), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
    unique=True,
).filter(lambda names: seabed.TARGETS_COLUMN not in names and all(n.strip("\ufeff").strip() == n for n in names))
CELL = st.floats(-1e9, 1e9, allow_nan=False) | st.just(float("nan"))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], np.ndarray[Any, Any], list[tuple[str, ...]]]:
    names = draw(NAMES)
    rows = draw(st.integers(1, 6))
    cells = draw(st.lists(st.lists(CELL, min_size=len(names), max_size=len(names)), min_size=rows, max_size=rows))
    sets = draw(st.lists(st.lists(st.sampled_from(names), unique=True), min_size=rows, max_size=rows))
    return names, np.array(cells, dtype=float), [tuple(n for n in names if n in chosen) for chosen in sets]


def check(data: seabed.Dataset, names: list[str], values: Any, targets: list[tuple[str, ...]]) -> None:
    assert data.names == names
    np.testing.assert_array_equal(data.values, values)
    assert data.targets == targets
    assert data.missing == int(np.isnan(values).sum())


@settings(max_examples=60, deadline=None)
@given(tables())
def test_every_way_in_gives_the_same_data(table: Any) -> None:
    names, values, targets = table
    frame = pd.DataFrame(values, columns=names)
    text = [";".join(members) for members in targets]
    with_column = frame.assign(**{seabed.TARGETS_COLUMN: text})
    mask = np.array([[name in members for name in names] for members in targets])
    records = [
        {**dict(zip(names, row, strict=True)), seabed.TARGETS_COLUMN: said or None}
        for row, said in zip(values.tolist(), text, strict=True)
    ]
    in_polars = pl.DataFrame({**{n: values[:, k] for k, n in enumerate(names)}, seabed.TARGETS_COLUMN: text})
    with_nulls = in_polars.with_columns(pl.col(names).fill_nan(None))
    lists = pa.array([list(members) for members in targets], type=pa.list_(pa.string()))
    arrow = pa.table({**{n: values[:, k] for k, n in enumerate(names)}, seabed.TARGETS_COLUMN: lists})
    ways = [
        seabed.Dataset(with_column),
        seabed.Dataset(frame, interventions=mask),
        seabed.Dataset(frame, interventions=pd.DataFrame(mask, columns=names)),
        seabed.Dataset(frame, interventions=[list(members) for members in targets]),
        seabed.Dataset(values, names=names, interventions=text),
        seabed.Dataset(np.asfortranarray(values), names=names, interventions=targets),
        seabed.Dataset(records),
        seabed.Dataset(dict(with_column)),
        seabed.Dataset(in_polars),
        seabed.Dataset(with_nulls),
        seabed.Dataset(arrow),
        seabed.Dataset(pa.table(with_nulls)),
        seabed.Dataset(with_nulls.to_pandas(use_pyarrow_extension_array=True)),
    ]
    for data in ways:
        check(data, names, values, targets)
    check(pickle.loads(pickle.dumps(ways[0])), names, values, targets)
    check(seabed.Dataset(ways[0].to_pandas()), names, values, targets)


@settings(max_examples=25, deadline=None)
@given(tables())
def test_files_keep_everything(tmp_path_factory: pytest.TempPathFactory, table: Any) -> None:
    names, values, targets = table
    data = seabed.Dataset(values, names=names, interventions=targets)
    for kind in ("csv", "parquet"):
        place = tmp_path_factory.mktemp("files") / f"data.{kind}"
        data.write(place)
        # What is unusual about the rows is said when it is known which ones are set aside.
        with pytest.warns(seabed.SeabedWarning) if _unusual(values) else _nothing():
            check(seabed.Dataset.read(place), names, values, targets)


def _unusual(values: Any) -> bool:
    """Constant columns, and columns that count the rows, deserve a warning."""
    if np.isnan(values).any():
        return False
    rows = np.arange(len(values))[:, None]
    constant = len(values) > 1 and bool((values == values[0]).all(axis=0).any())
    counter = len(values) >= 5 and bool(((values == rows) | (values == rows + 1)).all(axis=0).any())
    return constant or counter


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="float32"),
        pd.Series([1, 2, 3], dtype="uint8"),
        pd.Series([Decimal(1), 2, 3.0], dtype=object),
        pd.Series([1.0, 2.0, 3.0], dtype="double[pyarrow]"),
    ],
)
def test_all_kinds_of_numbers_are_numbers(column: Any) -> None:
    assert seabed.Dataset({"a": column}).values[:, 0].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64", "float32", "bool", "halffloat"])
def test_all_kinds_of_arrow_numbers_are_numbers(kind: str) -> None:
    plain = pa.array([True, False, None, True]) if kind == "bool" else pa.array([1, 0, None, 1])
    if kind == "halffloat":
        column = pa.array(np.array([1, 0, np.nan, 1], dtype=np.float16))
    else:
        column = plain.cast(getattr(pa, kind + "_" if kind == "bool" else kind)())
    for table in (pa.table({"a": column}), pa.table({"a": column}).slice(1), pa.concat_tables([pa.table({"a": column})] * 3)):
        expected = [[1.0, 0.0, np.nan, 1.0]] if table.num_rows == 4 else [[0.0, np.nan, 1.0]]
        expected = [[1.0, 0.0, np.nan, 1.0] * 3] if table.num_rows == 12 else expected
        np.testing.assert_array_equal(seabed.Dataset(table).values[:, 0], expected[0])


def test_targets_may_be_categories_and_long_texts() -> None:
    names = [f"a variable with a long name {k}" for k in range(3)]
    frame = pl.DataFrame({name: [1.0, 2.0, 3.0] for name in names})
    said = [names[0], None, ";".join(names)]
    for column in (pl.Series(said), pl.Series(said, dtype=pl.Categorical)):
        data = seabed.Dataset(frame.with_columns(column.alias(seabed.TARGETS_COLUMN)))
        assert data.targets == [(names[0],), (), tuple(names)]
    assert seabed.Dataset(frame.with_columns(pl.Series(said).alias(seabed.TARGETS_COLUMN)).slice(1)).targets[0] == ()


def test_rows_with_gaps_are_held_and_set_aside_by_a_fit(world: seabed.World) -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 2.5], "b": [2.0, 1.0, 0.5, 0.1]})
    data = seabed.Dataset(frame, interventions=[None, ["b"], None, ["a"]])
    assert data.missing == 1 and len(data.dropna()) == 3
    assert data.dropna().targets == [(), (), ("a",)]
    full = world.sample(30)
    frame = full.append(world.sample(1, seed=9)).to_pandas()
    frame.loc[30, "X2"] = np.nan
    with pytest.warns(seabed.SeabedWarning, match=r"1 of 31 rows is set aside because values are missing \(1 of X2\)"):
        learned = seabed.fit(frame, "bootstrap", draws=5)
    assert learned.data == full and (learned.graphs == seabed.fit(full, "bootstrap", draws=5).graphs).all()
    for call in (lambda: seabed.design(learned, 1, data=frame), lambda: seabed.evaluate(learned, world, data=frame)):
        with pytest.warns(seabed.SeabedWarning, match="1 of 31 rows is set aside"):
            call()
    with pytest.raises(seabed.DataError, match="no row is complete"):
        seabed.fit({"a": [np.nan], "b": [1.0]}, "bootstrap")


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_gaps_of_a_file_are_kept(kind: str) -> None:
    Path("gaps.csv").write_text("a,b,intervention_targets\n1,2,\n,3,b\n4,NA,\n5,<6,a\n7,8.5,b\n")
    frame = pd.read_csv("gaps.csv")
    if kind == "parquet":
        frame.assign(b=[2, 3, None, None, 8.5]).to_parquet("gaps.parquet")
    elif kind == "xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed, so no workbook is made")
        frame.to_excel("gaps.xlsx", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", seabed.SeabedWarning)
        held = seabed.Dataset.read(f"gaps.{kind}")
    np.testing.assert_array_equal(held.values, [[1, 2], [np.nan, 3], [4, np.nan], [5, np.nan], [7, 8.5]])
    assert held.targets == [(), ("b",), (), ("a",), ("b",)] and held.missing == 3
    assert held.dropna().values.tolist() == [[1.0, 2.0], [7.0, 8.5]] and held.dropna().targets == [(), ("b",)]
    assert pickle.loads(pickle.dumps(held)) == held
    assert held.append({"b": [1.0], "a": [2.0]}).missing == 3
    assert held.append(held).shape == (10, 2)
    with pytest.raises(seabed.DataError, match="differ"):
        held.append({"a": [1.0], "c": [1.0]})


def test_how_a_file_is_written_can_be_said() -> None:
    Path("odd.txt").write_bytes("a;b;µ\n1,5;2;-999\n2,5;1;1\n0,5;3,5;2\n".encode("latin-1"))
    said = {"separator": "semicolon", "decimal": "comma", "encoding": "latin-1"}
    data = seabed.Dataset.read("odd.txt", missing=["-999"], **said)  # type: ignore[arg-type]
    assert data.names == ["a", "b", "µ"] and data.missing == 1
    assert data.dropna().values.tolist() == [[2.5, 1.0, 1.0], [0.5, 3.5, 2.0]]
    assert len(seabed.Dataset.read("odd.txt", ignore=["µ"], **said)) == 3  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="semicolon"):
        seabed.Dataset.read("odd.txt", ignore=["µ"], encoding="latin-1")
    Path("text.csv").write_text("a,b\n1,high\n2,low\n")
    with pytest.raises(seabed.DataError, match="ignore="):
        seabed.Dataset.read("text.csv")
    with pytest.raises(seabed.SettingsError, match="separator"):
        seabed.Dataset.read("text.csv", separator="dot")


def test_columns_can_be_left_out_and_data_are_matched_by_name() -> None:
    frame = pd.DataFrame({"id": ["x", "y"], "a": [1, 2], "b": [3, 4]})
    data = seabed.Dataset(frame, ignore=["id"])
    assert data.names == ["a", "b"] and data.shape == (2, 2)
    assert data.append({"b": [6], "a": [5]}).values[2].tolist() == [5.0, 6.0]
    assert "2 rows" in repr(data) and "<table" in data._repr_html_()
    assert data != data.append(data) and data == seabed.Dataset(data)


def test_the_data_are_a_copy() -> None:
    values = np.ones((3, 2))
    data = seabed.Dataset(values)
    values[:] = 7
    assert data.values.max() == 1.0
