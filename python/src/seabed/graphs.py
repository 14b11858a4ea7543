"""Graphs as people have them (networkx, arrays, DataFrames, models), and distances between them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ._frames import differences, frame_of, typed
from ._seabed import graph_distances
from .errors import DataError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["GraphLike", "shd", "shd_double", "sid", "to_networkx"]

#: A networkx graph, a 0/1 array or DataFrame (row -> column), or anything with a ``graph`` such as a world.
GraphLike: TypeAlias = Any


def as_frame(graph: GraphLike, names: list[str] | None = None, what: str = "the graph") -> pd.DataFrame:
    """The graph as a boolean DataFrame, row -> column, in the order of ``names`` if they are given."""
    frame = _frame(graph, names, what)
    if names is None:
        return frame
    missing = [name for name in names if name not in frame.index]
    extra = [name for name in frame.index if name not in names]
    if missing or extra:
        raise DataError(f"{what} has other variables: {differences(missing, extra)}")
    return typed(frame.loc[names, names])


def _frame(graph: GraphLike, names: list[str] | None, what: str) -> pd.DataFrame:
    if hasattr(graph, "adjacency") and hasattr(graph, "nodes"):
        place = {node: k for k, node in enumerate(graph.nodes)}
        rows = np.zeros((len(place), len(place)), dtype=bool)
        for source, target in graph.edges():
            rows[place[source], place[target]] = True
            if not graph.is_directed():
                rows[place[target], place[source]] = True
        labels = [str(node) for node in place]
        return frame_of(rows, index=labels, columns=labels)
    if isinstance(graph, pd.DataFrame):
        labels = [str(label) for label in graph.columns]
        if graph.shape[0] != graph.shape[1] or [str(label) for label in graph.index] != labels:
            if graph.shape[0] == graph.shape[1] and isinstance(graph.index, pd.RangeIndex):
                graph = graph.set_axis(labels, axis=0)
            else:
                raise DataError(f"{what} must have the same names for rows and columns, in the same order")
        return frame_of(_zeros_and_ones(graph.to_numpy(), what), index=labels, columns=labels)
    if hasattr(graph, "graph") and isinstance(graph.graph, pd.DataFrame):
        return graph.graph
    matrix = _zeros_and_ones(np.asarray(graph), what)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{what} must be a square matrix, row -> column; it has shape {matrix.shape}")
    labels = names if names is not None else [f"X{k + 1}" for k in range(len(matrix))]
    if len(labels) != len(matrix):
        raise DataError(f"{what} has {len(matrix)} variables; {len(labels)} are expected")
    return frame_of(matrix, index=labels, columns=labels)


def _zeros_and_ones(values: npt.NDArray[Any], what: str) -> npt.NDArray[np.bool_]:
    if values.dtype == bool:
        return values
    try:
        fine = bool(np.isin(values, [0, 1]).all()) and values.dtype.kind in "iuf"
    except TypeError:
        fine = False
    if not fine:
        raise DataError(f"{what} must hold 0 and 1 only; edge probabilities are rounded by the user")
    return values.astype(bool)


def to_networkx(graph: GraphLike) -> nx.DiGraph[str]:
    """The graph as a :class:`networkx.DiGraph`.

    Parameters
    ----------
    graph : array, DataFrame, networkx graph, or something with a ``graph``
        Row -> column.

    Returns
    -------
    networkx.DiGraph
        With the variables as nodes.

    Examples
    --------
    >>> import numpy as np, seabed
    >>> sorted(seabed.to_networkx(np.array([[0, 1], [0, 0]])).edges)
    [('X1', 'X2')]
    """
    import networkx as nx

    frame = as_frame(graph)
    found: nx.DiGraph[str] = nx.DiGraph()
    found.add_nodes_from(frame.index)
    places = np.argwhere(frame.to_numpy())
    found.add_edges_from((str(frame.index[i]), str(frame.columns[j])) for i, j in places)
    return found


def distances(truth: GraphLike, estimate: GraphLike) -> dict[str, Any]:
    """All distances between an estimate and the truth, as the command ``seabed evaluate`` prints them."""
    true = as_frame(truth, what="the truth")
    names = [str(name) for name in true.index]
    found = as_frame(estimate, names, "the estimate")
    result: dict[str, Any] = json.loads(
        graph_distances(names, true.to_numpy().tolist(), found.to_numpy().tolist())
    )
    return result


def shd(truth: GraphLike, estimate: GraphLike) -> int:
    """The structural Hamming distance; a reversed edge counts once.

    Parameters
    ----------
    truth : graph
        The true graph, without cycles: a networkx graph, a 0/1 array or DataFrame (row -> column), or a world.
    estimate : graph
        The estimated one over the same variables; with edges in both directions it stands for its equivalence class.

    Returns
    -------
    int
        Number of pairs of variables between which the graphs differ.

    Examples
    --------
    >>> import numpy as np, seabed
    >>> seabed.shd(np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]]))
    1
    """
    return int(distances(truth, estimate)["shd"])


def shd_double(truth: GraphLike, estimate: GraphLike) -> int:
    """The structural Hamming distance; a reversed edge counts twice.

    Parameters
    ----------
    truth, estimate : graph
        As for :func:`shd`.

    Returns
    -------
    int
        Number of ordered pairs of variables in which the graphs differ.

    Examples
    --------
    >>> import numpy as np, seabed
    >>> seabed.shd_double(np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]]))
    2
    """
    return int(distances(truth, estimate)["shd_double"])


def sid(truth: GraphLike, estimate: GraphLike) -> int | tuple[int, int]:
    """The structural intervention distance: effects that would be computed wrongly from the estimate.

    Parameters
    ----------
    truth, estimate : graph
        As for :func:`shd`.

    Returns
    -------
    int or (int, int)
        Number of ordered pairs; of an estimate with undirected edges the least and the largest in its class.

    Examples
    --------
    >>> import numpy as np, seabed
    >>> seabed.sid(np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]]))
    2
    """
    found = distances(truth, estimate)
    if "sid" in found:
        return int(found["sid"])
    return int(found["sid_lower"]), int(found["sid_upper"])
