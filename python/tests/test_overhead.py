"""What the way from a DataFrame costs: one copy of the numbers, and no more."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import seabed


def peak_of_process() -> int:
    """The most memory that this process ever had, in bytes."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


@pytest.mark.parametrize("kind", ["pandas", "arrow", "numpy"])
def test_a_table_is_copied_once(kind: str) -> None:
    rows, columns = 400_000, 25
    values = np.asfortranarray(np.random.default_rng(1).normal(size=(rows, columns)))
    names = [f"X{k}" for k in range(columns)]
    table: object = values
    if kind == "pandas":
        table = pd.DataFrame(values, columns=names, copy=False)
    if kind == "arrow":
        pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed, so nothing is tested with it")
        table = pa.table({name: values[:, k] for k, name in enumerate(names)})
    # Whatever was used before: the next peak is this test's.
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = peak_of_process()
    tracemalloc.start()
    data = seabed.Dataset(table)
    _, in_python = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown = peak_of_process() - before
    assert data.shape == (rows, columns)
    # One copy is 1; the numbers of the sets of targets and what the allocator rounds up are the rest.
    assert grown < 1.35 * values.nbytes, f"{kind}: {grown / values.nbytes:.2f} times the table"
    assert in_python < 0.1 * values.nbytes, f"{kind}: {in_python / values.nbytes:.2f} times the table in Python"
