"""From data to a belief: :func:`fit` and its result, :class:`Fit`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import _seabed
from ._files import read_bytes, write_atomically
from ._frames import frame_of, typed
from ._progress import Progress, checked_seed, checked_threads, shown
from ._settings import Knowledge, as_number, as_pairs, knowledge_json, posterior_json
from .data import DataLike, Dataset, as_dataset, complete
from .errors import SeabedWarning, SettingsError
from .graphs import to_networkx

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

__all__ = ["Ensemble", "Fit", "fit"]


class Ensemble:
    """Weighted causal models: draws from the posterior.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
    >>> ensemble = seabed.fit(data, posterior="bootstrap", draws=5).ensemble
    >>> ensemble.predict({"X1": 1.0}, n=2).shape == (2 * len(ensemble), 3)
    True
    """

    __slots__ = ("_belief",)
    _belief: _seabed.Belief

    def __init__(self, belief: _seabed.Belief) -> None:
        self._belief = belief

    @property
    def names(self) -> list[str]:
        """The variables."""
        return self._belief.names

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Of shape (draws,); they add up to 1."""
        return self._belief.weights()

    def __len__(self) -> int:
        return int(self._belief.weights().size)

    def model(self, draw: int) -> dict[str, Any]:
        """One model as plain lists and numbers: its graph, its mechanisms and its noise, as in the JSON of ``seabed``.

        Parameters
        ----------
        draw : int
            From 0 to ``len(ensemble) - 1``.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> type(learned.ensemble.model(0)).__name__
        'dict'
        """
        if isinstance(draw, bool) or not hasattr(draw, "__index__") or draw < 0:
            raise SettingsError(f"draw = {draw!r}: give a whole number from 0 on")
        found: dict[str, Any] = json.loads(self._belief.model(int(draw)))
        return found

    def predict(
        self, do: dict[str, float] | None = None, *, n: int = 100, seed: int = 0, threads: int | None = None
    ) -> pd.DataFrame:
        """Rows that the models predict under an intervention: the posterior predictive distribution.

        Parameters
        ----------
        do : dict, optional
            What is set to what, in the units of the data; nothing for observations.
        n : int
            Rows of every draw.
        seed : int
            Of the noise.
        threads : int, optional
            All processors by default.

        Returns
        -------
        DataFrame
            ``n`` rows per draw, with an index of (draw, row).

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> learned.ensemble.predict({"X1": 1.0}, n=4)["X1"].unique().tolist()
        [1.0]
        """
        if isinstance(n, bool) or not hasattr(n, "__index__") or not 1 <= int(n) <= 10_000_000:
            raise SettingsError(f"n = {n!r}: choose a number from 1 to 10000000")
        settings = as_pairs({} if do is None else do, "do")
        flat = self._belief.predict(int(n), settings, checked_seed(seed), checked_threads(threads))
        rows = flat.reshape(-1, len(self.names))
        index = pd.MultiIndex.from_product([range(len(self)), range(int(n))], names=["draw", "row"])
        return frame_of(rows, columns=self.names, index=index)

    def __repr__(self) -> str:
        return f"Ensemble: {len(self)} models of {len(self.names)} variables"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled_ensemble, (self._belief.to_bytes(False),)


class Fit:
    """What was learned from data: a posterior over causal models.

    Made by :func:`fit`, :meth:`Experiment.fit` or :meth:`Fit.load`.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
    >>> learned = seabed.fit(data, posterior="bootstrap", draws=5)
    >>> learned.edge_probabilities.shape
    (3, 3)
    """

    def __init__(
        self,
        belief: _seabed.Belief,
        form: dict[str, Any] | None = None,
        said: dict[str, Any] | None = None,
        data: Dataset | None = None,
        threads: int | None = None,
    ) -> None:
        self._belief = belief
        self._form = form or {}
        self._said = said or {}
        self._data = data
        self._threads = threads
        self._checks: tuple[list[dict[str, Any]], list[str]] | None = None

    @property
    def names(self) -> list[str]:
        """The variables."""
        return self._belief.names

    @property
    def data(self) -> Dataset | None:
        """The complete rows that it was learned from; None if it was loaded from a file."""
        return self._data

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """The probability of every edge, row -> column, of shape (variables, variables).

        The weight of the draws that have the edge. What a batch would decide (:attr:`Trial.decides`, "now 0.65") is counted over up
        to 1000 graphs of the Markov chains instead, after what is pending, so the two differ by a few hundredths.
        ``diagnostics["edge_probabilities_of_all_graphs"]`` counts every graph of the chains.
        """
        names = self.names
        return frame_of(self._belief.edge_probabilities(), index=names, columns=names)

    @property
    def edges(self) -> pd.DataFrame:
        """All possible edges, the most probable first: the columns source, target and probability.

        The numbers of :attr:`edge_probabilities`, which says why they differ a little from those in :attr:`Trial.decides`.
        """
        matrix = self.edge_probabilities.to_numpy()
        names = np.array(self.names, dtype=object)
        pairs = np.argwhere(~np.eye(len(names), dtype=bool))
        frame = frame_of(
            {
                "source": names[pairs[:, 0]],
                "target": names[pairs[:, 1]],
                "probability": matrix[pairs[:, 0], pairs[:, 1]],
            }
        )
        return typed(frame.sort_values("probability", ascending=False, kind="stable", ignore_index=True))

    @property
    def edge_entropy(self) -> float:
        """The entropy of the edge probabilities, in nats: how much is still open."""
        return self._belief.edge_entropy

    @property
    def graphs(self) -> npt.NDArray[np.bool_]:
        """The graphs of all draws, row -> column, of shape (draws, variables, variables)."""
        size = len(self.names)
        return self._belief.graphs().reshape(-1, size, size).astype(bool)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weights of the draws, of shape (draws,); they add up to 1."""
        return self._belief.weights()

    @property
    def ensemble(self) -> Ensemble:
        """The weighted models themselves."""
        return Ensemble(self._belief)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How the posterior was reached, as in ``seabed fit --json``; empty if it was loaded from a file."""
        found: dict[str, Any] = self._form.get("diagnostics") or {}
        return found

    @property
    def warnings(self) -> list[str]:
        """What to beware of in the data, and whether the chains disagree, as sentences."""
        of_fit = [self._said["warning"]] if self._said.get("warning") else []
        return [*self._form.get("warnings", []), *of_fit]

    @property
    def findings(self) -> pd.DataFrame:
        """What in the data the models cannot have made: the columns kind, variables, row, p_value and text.

        Curved effects of a linear posterior, noise that is not normal or not of one size, common causes that were not
        measured, drift, single rows that decide alone, interventions that do not do what the other rows say. A false alarm
        in at most 5 % of the data sets for which the models are right. Computed at the first look; empty if the fit
        was loaded from a file, which has no data.
        """
        found, _ = self._checked()
        return frame_of(found, columns=["kind", "variables", "row", "p_value", "text"])

    def _checked(self) -> tuple[list[dict[str, Any]], list[str]]:
        """The findings as in ``seabed fit --json``, and the warning that follows from them, if any."""
        if self._data is None:
            return [], []
        if self._checks is None:
            warned = bool(self._said.get("warning"))
            text, caution = _seabed.checks(self._data._table, self._belief, warned, self._threads)
            self._checks = json.loads(text), [] if caution is None else [caution]
        return self._checks

    def _doubts(self) -> list[str]:
        """Where certainty may be false, in the order of ``seabed design DATA``."""
        of_fit = [self._said[key] for key in ("warning", "one_graph") if self._said.get(key)]
        _, caution = self._checked()
        return [*of_fit, *caution]

    @property
    def checks(self) -> list[str]:
        """Reasons not to trust the fit as it is, as sentences: :attr:`warnings`, a caution if there are findings although
        the draws agree, and :attr:`findings`."""
        found, caution = self._checked()
        return [*self.warnings, *caution, *(str(one["text"]) for one in found)]

    @property
    def notes(self) -> list[str]:
        """How the posterior was reached, as sentences."""
        return [*self._said.get("remarks", []), *self._said.get("notes", [])]

    @property
    def median_graph(self) -> pd.DataFrame:
        """The edges with a probability above one half, row -> column; it may have cycles."""
        return typed(self.edge_probabilities > 0.5)

    def to_networkx(self, draw: int | Literal["median"] = "median") -> nx.DiGraph[str]:
        """The median graph, or that of a draw, as a :class:`networkx.DiGraph`.

        Parameters
        ----------
        draw : int or "median"
            A number of a draw, or "median" for the edges with a probability above one half.

        Returns
        -------
        networkx.DiGraph
            Its edges have the attribute ``probability``.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> list(learned.to_networkx().nodes)  # doctest: +SKIP
        ['X1', 'X2', 'X3']
        """
        if draw == "median":
            frame = self.median_graph
        else:
            graphs = self.graphs
            if isinstance(draw, bool) or not hasattr(draw, "__index__") or not 0 <= int(draw) < len(graphs):
                raise SettingsError(f"draw = {draw!r}: give \"median\" or a number from 0 to {len(graphs) - 1}")
            frame = frame_of(graphs[int(draw)], index=self.names, columns=self.names)
        found = to_networkx(frame)
        place = {name: k for k, name in enumerate(self.names)}
        probabilities = self._belief.edge_probabilities()
        for source, target in found.edges:
            found.edges[source, target]["probability"] = float(probabilities[place[source], place[target]])
        return found

    def effects(
        self,
        *,
        spans: Mapping[str, tuple[float, float]] | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = None,
    ) -> pd.DataFrame:
        """What setting a variable does to each other one, averaged over graphs and parameters.

        Parameters
        ----------
        spans : dict, optional
            Between which two values a variable is set, ``{"A": (0, 1)}``, in the units of the data; by default the middle
            90 % of the data.
        seed : int
            Of the simulated rows of models that are not linear.
        threads, progress : optional
            As for :func:`fit`.

        Returns
        -------
        DataFrame
            One row per source and target: source, target, mean (change of the target's mean per unit of the source), low and
            high (90 % of the belief lies between), and the probabilities not_zero, positive and negative. The numbers of
            ``seabed effects``.

        Examples
        --------
        >>> import seabed
        >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
        >>> seabed.fit(data, posterior="bootstrap", draws=5).effects().shape
        (6, 8)
        """
        given: list[tuple[str, float, float]] = []
        for name, pair in (spans or {}).items():
            try:
                low, high = pair
            except (TypeError, ValueError) as error:
                raise SettingsError(f"spans[{name!r}] = {pair!r}: give (low, high)") from error
            given.append((str(name), as_number(low, f"spans[{name!r}]"), as_number(high, f"spans[{name!r}]")))
        with shown(progress) as callback:
            text = self._belief.effects(given, checked_seed(seed), checked_threads(threads), callback)
        rows = [
            (one["from"], one["to"], one["mean"], *one["interval"], one["not_zero"], one["positive"], one["negative"])
            for one in json.loads(text)
        ]
        columns = ["source", "target", "mean", "low", "high", "not_zero", "positive", "negative"]
        return frame_of(rows, columns=columns)

    def to_json(self) -> str:
        """What ``seabed fit --json`` prints, but for the times; of a fit from a file only names and probabilities.

        ``data_notes`` say how a file was read (:meth:`Dataset.read`), and which rows were set aside.
        """
        form = self._form or {
            "version": 1,
            "names": self.names,
            "edge_probabilities": self.edge_probabilities.to_numpy().tolist(),
        }
        if self._data is None:
            return json.dumps(form)
        found, caution = self._checked()
        warned = [*form.get("warnings", []), *caution]
        return json.dumps({**form, "checks": found, "warnings": warned, "data_notes": self._data._notes})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves models and graphs for :meth:`load`, ``seabed design`` and ``seabed evaluate``.

        Parameters
        ----------
        path : path
            .npz (which numpy opens, too) or .json; the same bytes as by ``seabed fit --out``. Pickle a fit to keep its data and
            diagnostics as well.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> learned.save("saved.npz")
        """
        write_atomically(path, self._belief.to_bytes(_is_json(path)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Fit:
        """What :meth:`save` or ``seabed fit --out`` saved.

        Parameters
        ----------
        path : path
            A .npz or .json file.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> learned.save("belief.npz")
        >>> seabed.Fit.load("belief.npz").names
        ['X1', 'X2', 'X3']
        """
        return cls(_seabed.Belief.from_bytes(read_bytes(path), os.fspath(path)))

    def plot(self, kind: Literal["matrix", "graph"] = "matrix", *, truth: Any = None, ax: Axes | None = None) -> Axes:
        """Draws the edge probabilities by matplotlib.

        Parameters
        ----------
        kind : "matrix" or "graph"
            Probabilities as a matrix, row -> column, or edges above one half as a graph.
        truth : graph, optional
            The true graph, if it is known, is marked.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> axes = learned.plot("graph", truth=world)  # doctest: +SKIP
        """
        from .plots import plot_fit

        return plot_fit(self, kind, truth, ax)

    def svg(self, *, truth: Any = None) -> dict[str, str]:
        """The report's figures of the edges as SVG documents, by their names; matplotlib is not needed.

        Parameters
        ----------
        truth : graph, optional
            The true graph, if it is known.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> sorted(learned.svg())
        ['graph', 'matrix']
        """
        from .plots import fit_svg

        return fit_svg(self, truth)

    def __repr__(self) -> str:
        kind = f"{len(self.weights)} draws"
        first = [f"{row.source} -> {row.target} {row.probability:.2f}" for row in self.edges.head(3).itertuples()]
        doubts = f"; {len(self.warnings)} warnings, see .checks" if self.warnings else ""
        return f"Fit: {len(self.names)} variables, {kind}; most probable: {', '.join(first) or 'nothing'}{doubts}"

    def _repr_html_(self) -> str:
        svg = self.svg()
        picture = svg.get("graph") or next(iter(svg.values()), "")
        table = self.edges.head(10).to_html(index=False, float_format=lambda value: f"{value:.2f}")
        doubts = "".join(f"<p><b>warning:</b> {escape(check)}</p>" for check in self.checks)
        return f"<div>{doubts}{picture}{table}</div>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._belief.to_bytes(False), self._form, self._said, self._data)


def _unpickled_ensemble(belief: bytes) -> Ensemble:
    return Ensemble(_seabed.Belief.from_bytes(belief, "a pickle"))


def _unpickled(belief: bytes, form: dict[str, Any], said: dict[str, Any], data: Dataset | None) -> Fit:
    return Fit(_seabed.Belief.from_bytes(belief, "a pickle"), form, said, data)


def _is_json(path: str | os.PathLike[str]) -> bool:
    name = os.fspath(path)
    if not name.endswith((".npz", ".json")):
        raise SettingsError(f"{name}: models are written as .npz or .json; the name must end in one of them")
    return name.endswith(".json")


_A_DAY = 86_400.0


def _warn_of_effort(seconds: float, needed: float, threads: int | None) -> None:
    """Says so before a fit that would take days, or more memory than there is."""
    days = seconds / (threads or os.cpu_count() or 1) / _A_DAY
    if days > 1:
        warnings.warn(f"this fit is estimated to take {days:.1f} days", SeabedWarning, stacklevel=3)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return
    if needed > there:
        said = f"this fit is estimated to need {needed / 1e9:.0f} GB of memory, and there are {there / 1e9:.0f} GB"
        warnings.warn(said, SeabedWarning, stacklevel=3)


def made(parts: tuple[_seabed.Belief, str, str], data: Dataset, threads: int | None) -> Fit:
    """The fit of what the extension returns; doubts are a warning."""
    belief, form, said = parts
    result = Fit(belief, json.loads(form), json.loads(said), data, threads)
    for sentence in result.warnings:
        warnings.warn(sentence, SeabedWarning, stacklevel=3)
    return result


def fit(
    data: DataLike,
    posterior: str = "mcmc-gp",
    *,
    knowledge: Knowledge = None,
    interventions: Any = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    draws: int | None = None,
    chains: int | None = None,
    max_parents: int | None = None,
    candidates: int | None = None,
    sweeps: int | None = None,
    edge_probabilities: dict[tuple[str, str], float] | None = None,
    prior: Literal["er", "sf"] | None = None,
    edges_per_node: float | None = None,
    particles: int | None = None,
    steps: int | None = None,
    all_steps: bool | None = None,
    mc_samples: int | None = None,
    estimator: Literal["columns", "joint"] | None = None,
    noise: float | Literal["learned"] | None = None,
    weights: Literal["uniform", "log-joint"] | None = None,
    walk: int | None = None,
    standardise: bool | None = None,
    penalty: float | None = None,
    max_degree: int | None = None,
) -> Fit:
    """Learns a posterior over causal models from data.

    The same data, arguments and seed give the same result on any number of threads, whatever the order of the columns, and
    the same as the command ``seabed fit``.

    Parameters
    ----------
    data : Dataset, or what one is made from
        Samples of the variables; see :class:`Dataset`. Rows with missing cells are set aside, with a warning that says how many.
    posterior : str
        ``"mcmc-gp"``: Markov chains over graphs of smooth functions. ``"mcmc-linear"``: of linear models, in seconds where
        mcmc-gp takes minutes. ``"bootstrap"``: searches resampled data (GIES), for hundreds of variables.
        ``"dibs-nonlinear"``, ``"dibs-linear"``, ``"dibs-bge"``: DiBS.
    knowledge : dict, optional
        Background knowledge: ``{"forbidden": [("A", "B")], "required": [("A", "C")], "tiers": [["A"], ["B", "C"]]}``; no edge
        from a later tier to an earlier one.
    interventions : optional
        Who was set in which row, as for :class:`Dataset`.
    seed : int
        Of all randomness, from 0 to 2**64 - 1.
    threads : int, optional
        All processors by default.
    progress : bool or callable, optional
        ``True`` for a bar by tqdm, or a function of (done, all, what) that is called from this thread.
    draws : int, optional
        Draws from the posterior [200 for Markov chains, 100 for the bootstrap].
    chains, max_parents, candidates, sweeps : int, optional
        Markov chains: their number [4], most parents of a variable [5 if linear, else 3], candidate parents that are tried in
        all combinations [12], most sweeps [3200].
    edge_probabilities : dict, optional
        Markov chains: prior probabilities of single edges, ``{("A", "B"): 0.8}``.
    prior, edges_per_node : optional
        Markov chains and DiBS: ``"er"`` or ``"sf"``, and the expected number of edges per variable [1].
    particles, steps, all_steps, mc_samples, estimator, noise, weights, walk, standardise : optional
        DiBS; ``noise`` is a standard deviation in the data's units if it is known.
    penalty, max_degree : optional
        Bootstrap: penalty per parameter [BIC], most edges of a variable.

    Returns
    -------
    Fit
        The posterior. What to beware of is a ``SeabedWarning``; ``checks`` lists all that speaks against trusting it.

    Raises
    ------
    DataError, SettingsError, KnowledgeError
        If the arguments cannot be used.
    KeyboardInterrupt
        After Ctrl-C, within a second.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=4, mechanism="linear", seed=1).sample(100)
    >>> learned = seabed.fit(data, "mcmc-linear", knowledge={"forbidden": [("X1", "X2")]}, draws=50)
    >>> float(learned.edge_probabilities.at["X1", "X2"])
    0.0
    """
    options = {
        "draws": draws,
        "chains": chains,
        "max_parents": max_parents,
        "candidates": candidates,
        "sweeps": sweeps,
        "edge_probabilities": edge_probabilities,
        "prior": prior,
        "edges_per_node": edges_per_node,
        "particles": particles,
        "steps": steps,
        "all_steps": all_steps,
        "mc_samples": mc_samples,
        "estimator": estimator,
        "noise": noise,
        "weights": weights,
        "walk": walk,
        "standardise": standardise,
        "penalty": penalty,
        "max_degree": max_degree,
    }
    changes = posterior_json(posterior, options)
    known = knowledge_json(knowledge)
    table = complete(as_dataset(data, interventions))
    _warn_of_effort(*_seabed.fit_effort(table._table, posterior, changes), checked_threads(threads))
    with shown(progress) as callback:
        parts = _seabed.fit(
            table._table, posterior, changes, known, checked_seed(seed), checked_threads(threads), callback
        )
    return made(parts, table, checked_threads(threads))
