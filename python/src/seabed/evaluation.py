"""How close a belief or a graph is to the truth: :func:`evaluate`, and :func:`simulate` for a world's data."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from . import _seabed
from ._progress import Progress, checked_threads, shown
from .data import DataLike, Dataset, as_dataset, complete
from .errors import SeabedWarning, SettingsError
from .graphs import GraphLike, as_frame, distances
from .posterior import Fit
from .worlds import World

__all__ = ["evaluate", "simulate"]


def evaluate(
    estimate: Fit | GraphLike | None,
    truth: GraphLike,
    *,
    data: DataLike = None,
    threads: int | None = None,
    progress: Progress = None,
) -> dict[str, float | int | None]:
    """Compares a fit or a graph with the true graph.

    Parameters
    ----------
    estimate : Fit, graph or None
        What was learned; None to look only at how easy the data are.
    truth : graph
        The true graph without cycles: a networkx graph, a 0/1 array or DataFrame (row -> column), or a world.
    data : Dataset or what one is made from, optional
        To see how much of the causal order sorting reveals, and, with a fit, how well it predicts them.
    threads, progress : optional
        As for :func:`fit`.

    Returns
    -------
    dict
        Of a graph: shd, shd_double and sid (sid_lower and sid_upper of a class). Of a fit: eshd, esid, auroc, auprc, ef1,
        brier, ece, edge_loss and truth_mass; None where undefined. With data: var_sortability, r2_sortability, and of a fit
        held_out_log_likelihood in nats per row.

    Examples
    --------
    >>> import seabed
    >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
    >>> seabed.evaluate(world.graph, world)["shd"]
    0
    """
    found: dict[str, float | int | None] = {}
    if isinstance(estimate, Fit):
        true = as_frame(truth, estimate.names, "the truth").to_numpy().tolist()
        with shown(progress) as callback:
            found.update(json.loads(estimate._belief.scores(true, checked_threads(threads), callback)))
    elif estimate is not None:
        found.update({k: v for k, v in distances(truth, estimate).items() if k != "sid_exact"})
    elif data is None:
        raise SettingsError("there is nothing to evaluate: give an estimate, or data")
    if data is not None:
        table = complete(as_dataset(data))
        rows = as_frame(truth, table.names, "the truth").to_numpy().tolist()
        easy = json.loads(_seabed.data_sortability(table._table, rows))
        problem = easy.pop("problem", None)
        if problem:
            warnings.warn(f"sortability is undefined: {problem}", SeabedWarning, stacklevel=2)
        found.update(easy)
        if isinstance(estimate, Fit):
            found["held_out_log_likelihood"] = estimate._belief.held_out_log_likelihood(table._table)
    return found


def simulate(world: World, n: int = 100, do: Mapping[str, float] | None = None, *, seed: int = 0) -> Dataset:
    """Outcomes of an experiment on a simulated world: :meth:`World.sample`.

    Parameters
    ----------
    world : World
        From :mod:`seabed.worlds`.
    n : int
        Number of rows.
    do : dict, optional
        What is set to what; nothing for observations.
    seed : int
        Of the noise.

    Returns
    -------
    Dataset
        One row per sample.

    Examples
    --------
    >>> import seabed
    >>> len(seabed.simulate(seabed.worlds.er(nodes=3, seed=1), 5, do={"X2": 0.0}))
    5
    """
    return world.sample(n, do, seed=seed)
