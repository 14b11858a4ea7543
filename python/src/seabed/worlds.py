"""Simulated worlds that answer experiments: random causal models, models from files, gene networks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from . import _seabed
from ._files import read_bytes, write_atomically
from ._frames import frame_of
from ._progress import checked_seed, checked_threads
from ._settings import as_json, as_number, as_pairs
from .data import Dataset
from .errors import SettingsError
from .graphs import to_networkx

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["World", "chain", "er", "genes", "load", "sf", "tree"]


class World:
    """A system that can be observed and intervened on, and whose causes are known.

    Made by :func:`er`, :func:`sf`, :func:`tree`, :func:`chain`, :func:`genes` or :func:`load`.

    Examples
    --------
    >>> import seabed
    >>> world = seabed.worlds.er(nodes=5, seed=1)
    >>> world.sample(2, do={"X3": 1.5}).values[:, 2].tolist()
    [1.5, 1.5]
    """

    __slots__ = ("_settings", "_world")
    _world: _seabed.World
    _settings: tuple[str, int] | None

    def __init__(self, world: _seabed.World, settings: tuple[str, int] | None = None) -> None:
        self._world = world
        self._settings = settings

    @property
    def names(self) -> list[str]:
        """The variables."""
        return self._world.names

    @property
    def graph(self) -> pd.DataFrame:
        """Who causes whom, row -> column; that of a gene network may have cycles."""
        return frame_of(self._world.graph(), index=self.names, columns=self.names, dtype=bool)

    def to_networkx(self) -> nx.DiGraph[str]:
        """The graph as a :class:`networkx.DiGraph`."""
        return to_networkx(self.graph)

    def sample(
        self, n: int = 100, do: Mapping[str, float] | None = None, *, seed: int = 0, threads: int | None = None
    ) -> Dataset:
        """Outcomes of one experiment.

        Parameters
        ----------
        n : int
            Number of rows.
        do : dict, optional
            What is set to what; nothing for observations. In a gene network a factor of the rate of transcription: 0 knocks a
            gene out.
        seed : int
            Of the noise. Every intervention has its own noise, so one seed serves for all experiments of a round.
        threads : int, optional
            All processors by default.

        Returns
        -------
        Dataset
            The same rows as of ``seabed simulate``.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> world.sample(3, {"X1": 0.5}).targets
        [('X1',), ('X1',), ('X1',)]
        """
        if isinstance(n, bool) or not hasattr(n, "__index__") or int(n) < 1:
            raise SettingsError(f"n = {n!r}: give a whole number from 1 on")
        settings = as_pairs({} if do is None else do, "do")
        return Dataset._of(self._world.sample(int(n), settings, checked_seed(seed), checked_threads(threads)))

    def run(self, batch: Any, *, seed: int = 0) -> Dataset:
        """The outcomes of all experiments of a batch, in its order.

        Parameters
        ----------
        batch : Batch or list of dict
            The experiments; those of a batch as often as it says.
        seed : int
            Of the noise; take another one for every round.

        Returns
        -------
        Dataset
            One row per outcome.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> world.run([{"X1": 1.0}, {"X2": 0.0}]).targets
        [('X1',), ('X2',)]
        """
        found: Dataset | None = None
        seen: dict[tuple[tuple[str, float], ...], int] = {}
        if isinstance(batch, (str, Mapping)) or not isinstance(batch, Iterable):
            raise SettingsError(f"batch = {batch!r}: give a Batch, or a list of experiments, [{{'X1': 1.5}}]")
        for trial in batch:
            targets = dict(as_pairs(getattr(trial, "targets", trial), "batch"))
            rows = int(getattr(trial, "rows", 1))
            key = tuple(sorted(targets.items()))
            before = seen.get(key, 0)
            seen[key] = before + rows
            # The same experiment twice in a batch must not repeat its noise.
            outcome = self.sample(before + rows, targets, seed=seed)
            if before:
                outcome = Dataset(outcome.to_pandas().iloc[before:])
            found = outcome if found is None else found.append(outcome)
        if found is None:
            raise SettingsError("the batch has no experiment")
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves a model as JSON, as ``seabed simulate --save-scm`` does, or a gene network as SBML.

        Parameters
        ----------
        path : path
            Where to.
        """
        write_atomically(path, self._world.to_text().encode())

    def __repr__(self) -> str:
        kind = "gene network" if self._world.is_gene_network else "causal model"
        return f"World: a {kind} of {len(self.names)} variables with {int(self.graph.to_numpy().sum())} edges"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._world.is_gene_network:
            if self._settings is None:
                raise TypeError("this gene network cannot be pickled; save it and load it again")
            return _genes, self._settings
        return _of_text, (self._world.to_text(),)


def _of_text(text: str) -> World:
    return World(_seabed.World.from_json(text, "a pickle"))


def _genes(settings: str, seed: int) -> World:
    return World(_seabed.World.genes(settings, seed), (settings, seed))


def _drawn(
    graph: str,
    nodes: int,
    edges_per_node: float,
    mechanism: str,
    hidden: int,
    weights: str,
    noise_sd: float,
    noise_levels: str,
    standardise: bool,
    seed: int,
) -> World:
    settings = as_json(
        {
            "graph": graph,
            "nodes": nodes,
            "edges_per_node": as_number(edges_per_node, "edges_per_node"),
            "mechanism": mechanism,
            "hidden": hidden,
            "weights": weights,
            "noise_sd": as_number(noise_sd, "noise_sd"),
            "noise_levels": noise_levels,
            "standardise": standardise,
        }
    )
    return World(_seabed.World.draw(settings, checked_seed(seed)))


Mechanism = Literal["linear", "nonlinear"]
Weights = Literal["normal", "uniform"]
Levels = Literal["equal", "unequal", "roots", "random"]


def er(
    nodes: int = 20,
    *,
    edges_per_node: float = 1.0,
    mechanism: Mechanism = "nonlinear",
    hidden: int = 5,
    weights: Weights = "normal",
    noise_sd: float = 0.1,
    noise_levels: Levels = "equal",
    standardise: bool = False,
    seed: int = 0,
) -> World:
    """A random model on an Erdős–Rényi graph.

    Parameters
    ----------
    nodes : int
        Number of variables, called X1, X2, ….
    edges_per_node : float
        Expected number of edges per variable before graphs with cycles are ruled out.
    mechanism : "linear" or "nonlinear"
        Weighted sums of the parents, or networks with ``hidden`` hidden units.
    hidden : int
        Hidden units of a nonlinear mechanism.
    weights : "normal" or "uniform"
        Of linear mechanisms: normal with mean 2 and standard deviation 1, or uniform from 0.5 to 2 with either sign.
    noise_sd : float
        Standard deviation of the noise.
    noise_levels : str
        "equal"; "unequal": from noise_sd (first variable) to ten times as much (last); "roots": 1 without parents, else
        noise_sd; "random": variances uniform up to noise_sd squared.
    standardise : bool
        Bring every variable to mean 0 and standard deviation 1, as observed.
    seed : int
        Of the graph, the mechanisms and the noise levels.

    Returns
    -------
    World
        The same as of ``seabed simulate er`` with that seed.

    Examples
    --------
    >>> import seabed
    >>> seabed.worlds.er(nodes=5, mechanism="linear", seed=3).names
    ['X1', 'X2', 'X3', 'X4', 'X5']
    """
    return _drawn("er", nodes, edges_per_node, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed)


def sf(
    nodes: int = 20,
    *,
    edges_per_node: int = 1,
    mechanism: Mechanism = "nonlinear",
    hidden: int = 5,
    weights: Weights = "normal",
    noise_sd: float = 0.1,
    noise_levels: Levels = "equal",
    standardise: bool = False,
    seed: int = 0,
) -> World:
    """A random model on a scale-free graph, in which few variables have many causes.

    Parameters
    ----------
    nodes, edges_per_node, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed
        As for :func:`er`; edges_per_node is a whole number.

    Returns
    -------
    World
        The same as of ``seabed simulate sf`` with that seed.

    Examples
    --------
    >>> import seabed
    >>> seabed.worlds.sf(nodes=5, seed=3)
    World: a causal model of 5 variables with 4 edges
    """
    return _drawn("sf", nodes, edges_per_node, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed)


def tree(
    nodes: int = 20,
    *,
    mechanism: Mechanism = "nonlinear",
    hidden: int = 5,
    weights: Weights = "normal",
    noise_sd: float = 0.1,
    noise_levels: Levels = "equal",
    standardise: bool = False,
    seed: int = 0,
) -> World:
    """A random model on a random tree.

    Parameters
    ----------
    nodes, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed
        As for :func:`er`.

    Examples
    --------
    >>> import seabed
    >>> seabed.worlds.tree(nodes=5, seed=3)
    World: a causal model of 5 variables with 4 edges
    """
    return _drawn("tree", nodes, 1.0, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed)


def chain(
    nodes: int = 20,
    *,
    mechanism: Mechanism = "nonlinear",
    hidden: int = 5,
    weights: Weights = "normal",
    noise_sd: float = 0.1,
    noise_levels: Levels = "equal",
    standardise: bool = False,
    seed: int = 0,
) -> World:
    """A random model on a chain with its source in the middle.

    Parameters
    ----------
    nodes, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed
        As for :func:`er`.

    Examples
    --------
    >>> import seabed
    >>> seabed.worlds.chain(nodes=5, seed=3)
    World: a causal model of 5 variables with 4 edges
    """
    return _drawn("chain", nodes, 1.0, mechanism, hidden, weights, noise_sd, noise_levels, standardise, seed)


def genes(
    genes: int = 50,
    *,
    organism: Literal["ecoli-like", "yeast-like"] = "ecoli-like",
    network: str | os.PathLike[str] | None = None,
    measure: Literal["mrna", "protein"] = "mrna",
    deterministic: bool = False,
    gnw_faithful: bool = True,
    seed: int = 0,
) -> World:
    """A gene regulatory network, simulated as GeneNetWeaver does.

    Parameters
    ----------
    genes : int
        Number of genes of a generated network.
    organism : "ecoli-like" or "yeast-like"
        What a generated network resembles.
    network : path, optional
        An SBML file as written by GeneNetWeaver, instead.
    measure : "mrna" or "protein"
        What is measured for every gene.
    deterministic : bool
        Give the steady state, without noise.
    gnw_faithful : bool
        Report exactly what GeneNetWeaver would.
    seed : int
        Of a generated network.

    Returns
    -------
    World
        ``do={"G3": 0.0}`` knocks a gene out.

    Examples
    --------
    >>> import seabed
    >>> len(seabed.worlds.genes(5, seed=1).names)
    5
    """
    settings = as_json(
        {
            "network": None if network is None else os.fspath(network),
            "organism": organism,
            "genes": genes,
            "measure": measure,
            "deterministic": deterministic,
            "gnw_faithful": gnw_faithful,
        }
    )
    return _genes(settings, checked_seed(seed))


def load(path: str | os.PathLike[str]) -> World:
    """What :meth:`World.save` wrote: the model of a JSON file, as of ``seabed simulate --save-scm``, or a gene network (SBML).

    Parameters
    ----------
    path : path
        A .json or .xml file; :func:`genes` says more about how a network is measured.

    Examples
    --------
    >>> import seabed
    >>> seabed.worlds.er(nodes=3, seed=1).save("world.json")
    >>> seabed.worlds.load("world.json").names
    ['X1', 'X2', 'X3']
    """
    name = os.fspath(path)
    text = read_bytes(path).decode(errors="replace")
    if text.lstrip().startswith("<"):
        return genes(network=name)
    return World(_seabed.World.from_json(text, name))
