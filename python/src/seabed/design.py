"""From a belief to the next experiments: :func:`design` and its result, :class:`Batch`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import pandas as pd

from . import _seabed
from ._frames import frame_of
from ._progress import Progress, checked_seed, checked_threads, shown
from ._settings import as_json, as_number, as_pairs, as_text
from .data import TARGETS_COLUMN, DataLike, as_dataset, complete
from .errors import SettingsError
from .posterior import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Batch", "Intervention", "design", "score"]

#: What is set to what, in the units of the data.
Intervention: TypeAlias = "Mapping[str, float]"


@dataclass(frozen=True)
class Trial:
    """One experiment of a batch.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
    >>> batch = seabed.design(seabed.fit(data, "bootstrap", draws=5), batch=1)
    >>> sorted(batch[0].targets) == sorted(batch.frame["targets"][0])
    True
    """

    #: What is set to what, in the units of the data.
    targets: dict[str, float]
    #: How often it is done.
    rows: int
    #: Its expected information on its own, in :attr:`Batch.unit`.
    information: float
    #: The Monte Carlo standard error of that.
    standard_error: float
    #: What it adds to the experiments before it.
    gain: float
    #: What all its rows cost.
    cost: float
    #: Its number in an :class:`Experiment`, or its name in a :class:`Campaign`; None outside.
    id: int | str | None = None
    #: What it would decide on its own, in words; in numbers in ``batch.form["batch"][k]["decides"]``. Probabilities "now" are
    #: counted over up to 1000 graphs of the Markov chains, :attr:`Fit.edge_probabilities` over the draws: they differ a little.
    decides: str = ""


@dataclass(frozen=True, repr=False)
class Batch(Sequence[Trial]):
    """The experiments to carry out next, and what they are expected to teach.

    Made by :func:`design`, :meth:`Experiment.ask` or :meth:`Campaign.propose`. A sequence of trials; as a table in
    :attr:`frame`.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
    >>> batch = seabed.design(seabed.fit(data, "bootstrap", draws=5), batch=2)
    >>> len(batch), batch.unit
    (2, 'nats')
    """

    #: The variables.
    names: list[str]
    #: The experiments, in the order of the choice.
    trials: list[Trial]
    #: The JSON of ``seabed design --json``, but for the times.
    form: dict[str, Any]
    #: What information is measured in.
    unit: str = "nats"
    #: What the batch would decide, as sentences.
    forecast: list[str] = field(default_factory=list)
    #: Every design that was evaluated: the columns targets, information and standard_error.
    evaluated: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def expected_gain(self) -> float:
        """The expected information of all experiments together, in :attr:`unit`."""
        return float(self.form["batch_information"])

    @property
    def standard_error(self) -> float:
        """The Monte Carlo standard error of :attr:`expected_gain`."""
        return float(self.form["batch_standard_error"])

    @property
    def strategy(self) -> str:
        """How the batch was chosen."""
        return str(self.form["strategy"])

    @property
    def warnings(self) -> list[str]:
        """What to beware of in the data, in what was learned and in what was chosen, as sentences."""
        return [str(warning) for warning in self.form.get("warnings", [])]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per experiment: targets (a dict), rows, information, standard_error, gain, cost and decides (words)."""
        columns = ["targets", "rows", "information", "standard_error", "gain", "cost", "decides"]
        rows = [[getattr(trial, column) for column in columns] for trial in self.trials]
        ids = [trial.id for trial in self.trials]
        index = pd.Index(ids, name="trial") if any(i is not None for i in ids) else None
        return frame_of(rows, columns=columns, index=index)

    def to_pandas(self) -> pd.DataFrame:
        """The form to fill in: one row per outcome, targets set, all other variables missing.

        Returns
        -------
        DataFrame
            A column per variable, and ``intervention_targets``; when it is filled in, it can be told or fitted.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> learned = seabed.fit(world.sample(50), posterior="bootstrap", draws=5)
        >>> seabed.design(learned, batch=2).to_pandas().columns.tolist()
        ['X1', 'X2', 'X3', 'intervention_targets']
        """
        records: list[dict[str, Any]] = []
        for trial in self.trials:
            row: dict[str, Any] = {name: trial.targets.get(name, float("nan")) for name in self.names}
            row[TARGETS_COLUMN] = ";".join(name for name in self.names if name in trial.targets)
            records.extend([row] * trial.rows)
        return frame_of(records, columns=[*self.names, TARGETS_COLUMN])

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draws what values of each target are worth, and what was chosen, by matplotlib.

        The curves are what one row of an experiment is worth on its own, as it was estimated before the first choice; chosen
        values are circled on them. The final estimates, with all rows, are in :attr:`frame`.

        Parameters
        ----------
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
        >>> axes = seabed.design(learned, batch=2).plot()  # doctest: +SKIP
        """
        from .plots import plot_batch

        return plot_batch(self, ax)

    def svg(self) -> dict[str, str]:
        """The report's figures of the batch as SVG documents, by their names; matplotlib is not needed."""
        from .plots import batch_svg

        return batch_svg(self)

    def to_json(self) -> str:
        """What ``seabed design --json`` prints, but for the times."""
        return json.dumps(self.form)

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: Any) -> Any:
        return self.trials[index]

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Batch) and self.form == other.form and self.trials == other.trials

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = [f"Batch of {len(self)} by {self.strategy}: {self.expected_gain:.3f} ± {self.standard_error:.3f} {self.unit}"]
        for trial in self.trials:
            times = f", {trial.rows} rows" if trial.rows > 1 else ""
            name = "" if trial.id is None else f"{trial.id}: "
            decides = f": {trial.decides}" if trial.decides else ""
            lines.append(f"  {name}{do(trial.targets)}{times}{decides}")
        return "\n".join([*lines, *self.forecast, *(f"warning: {sentence}" for sentence in self.warnings)])

    def _repr_html_(self) -> str:
        frame = self.frame
        frame.insert(0, "experiment", [do(trial.targets) for trial in self.trials])
        with pd.option_context("display.max_colwidth", None):
            table = frame.drop(columns="targets").to_html(float_format=lambda value: f"{value:.4f}")
        said = [f"together {self.expected_gain:.3f} ± {self.standard_error:.3f} {self.unit}", *self.forecast]
        doubts = "".join(f"<p><b>warning:</b> {escape(sentence)}</p>" for sentence in self.warnings)
        return f"<div>{doubts}{table}{''.join(f'<p>{escape(line)}</p>' for line in said)}</div>"


def do(targets: Mapping[str, float]) -> str:
    """An experiment in words."""
    return "do(" + ", ".join(f"{name} = {value:.6g}" for name, value in targets.items()) + ")"


def made(text: str, ids: Iterable[int | str | None] | None = None) -> Batch:
    """The batch of what the extension returns."""
    parts = json.loads(text)
    form = parts["form"]
    names = list(ids) if ids is not None else [None] * len(form["batch"])
    trials = [
        Trial(
            targets={str(k): float(v) for k, v in chosen["targets"].items()},
            rows=int(chosen.get("rows", 1)),
            information=float(chosen["information"]),
            standard_error=float(chosen["standard_error"]),
            gain=float(chosen["gain"]),
            cost=float(chosen["cost"]),
            id=name,
            decides=str(decides),
        )
        for chosen, name, decides in zip(form["batch"], names, parts["decides"], strict=True)
    ]
    evaluated = frame_of(
        [
            (dict(item["targets"]), item["information"], item["standard_error"])
            for item in parts["evaluated"]
        ],
        columns=["targets", "information", "standard_error"],
    )
    return Batch(
        names=list(parts.get("names", [])),
        trials=trials,
        form=form,
        unit=parts["unit"],
        forecast=parts["sentences"],
        evaluated=evaluated,
    )


Bounds: TypeAlias = "Mapping[str, tuple[float, float]]"


def constraints_json(
    names: list[str],
    observed: str | None,
    *,
    targets: Iterable[str] | None,
    forbidden: Iterable[str],
    value_range: tuple[float, float] | None,
    bounds: Bounds | None,
    levels: Mapping[str, Iterable[float]] | None,
    cost: Mapping[str, float] | None,
    experiment_cost: float,
    budget: float | None,
    max_repeats: int | None,
    max_targets: int,
) -> str:
    """What can be set to what, in the form that the extension takes; ``observed`` is what the data suggest, in that form."""
    if value_range is None and observed is not None:
        usual: dict[str, Any] = json.loads(observed)["variables"]
    else:
        low, high = _pair(value_range if value_range is not None else (-10.0, 10.0), "value_range")
        usual = {name: {"levels": {"range": [low, high]}, "cost": 1.0} for name in names}
    bounds, levels, cost = by_name(bounds, "bounds"), by_name(levels, "levels"), by_name(cost, "cost")
    wanted = None if targets is None else names_in(targets, names, "targets")
    refused = names_in(forbidden, names, "forbidden")
    for key, given in (("bounds", bounds), ("levels", levels), ("cost", cost)):
        names_in(given, names, key)
    both = [name for name in bounds if name in levels]
    if both:
        raise SettingsError(f"{both[0]!r} has both bounds and levels; give only one of them")
    allowed: dict[str, Any] = {}
    for name in names:
        if name in refused or (wanted is not None and name not in wanted):
            continue
        entry = usual.get(name, {"levels": None, "cost": 1.0})
        if name in bounds:
            entry = {**entry, "levels": {"range": list(_pair(bounds[name], f"bounds[{name!r}]"))}}
        if name in levels:
            values = sorted(set(_numbers(levels[name], f"levels[{name!r}]")))
            entry = {**entry, "levels": {"list": values}}
        if entry["levels"] is None:
            continue
        if name in cost:
            entry = {**entry, "cost": as_number(cost[name], f"cost[{name!r}]")}
        allowed[name] = entry
    form = {
        "variables": allowed,
        "experiment-cost": as_number(experiment_cost, "experiment_cost"),
        "budget": None if budget is None else as_number(budget, "budget"),
        "max-repeats": max_repeats,
        "max-targets": max_targets,
    }
    return as_json(form, dashes=False)


def names_in(given: Iterable[str], names: list[str], key: str) -> list[str]:
    """Names of variables, one or several, as a list."""
    if not isinstance(given, Iterable):
        raise SettingsError(f"{key} = {given!r}: give a list of names")
    listed = [given] if isinstance(given, str) else list(given)
    unknown = [name for name in listed if name not in names]
    if unknown:
        raise SettingsError(f"{key}: there is no variable {unknown[0]!r}; the variables are {', '.join(names)}")
    return listed


def _numbers(values: Any, key: str) -> list[float]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SettingsError(f"{key} = {values!r}: give a list of numbers")
    return [as_number(value, key) for value in values]


def by_name(given: Any, key: str) -> dict[str, Any]:
    """What is said of some variables, as a dict."""
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError(f"{key} = {given!r}: give a dict by the names of the variables")
    return {str(name): value for name, value in (given or {}).items()}


def _pair(value: Any, key: str) -> tuple[float, float]:
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{key} = {value!r}: give (low, high)") from error
    return as_number(low, key), as_number(high, key)


def request_json(
    batch: int,
    strategy: str | None,
    utility: str | None,
    values: Any,
    replicates: int | str | None,
    samples: int | None,
    evaluations: int | None,
    temperature: float | str | None,
    estimator: str | None,
) -> str:
    """How a batch is chosen, in the form that the extension takes."""
    if strategy is not None and utility is not None:
        raise SettingsError("give either a strategy or a utility, not both")
    if strategy is not None and strategy not in _seabed.strategies():
        raise SettingsError(f"strategy = {strategy!r}: the strategies are {', '.join(_seabed.strategies())}")
    if estimator is not None and strategy is None and utility is None:
        # An estimator is one of information about the model.
        utility = "model"
    request = {
        "batch": batch,
        "strategy": strategy,
        "utility": utility,
        "values": _values(values),
        "replicates": replicates,
        "samples": samples,
        "evaluations": evaluations,
        "temperature": temperature,
        "estimator": estimator,
    }
    return as_json(request, dashes=False)


def _values(values: Any) -> Any:
    if isinstance(values, str):
        if values == "gp-ucb":
            return {"gp-ucb": {"kappa": 2.5}}
        if values == "grid":
            return {"grid": []}
        if values in ("refined", "sample"):
            return values
        raise SettingsError(f"values = {values!r}: choose refined, sample, grid, gp-ucb, a number or a list of numbers")
    if isinstance(values, (int, float)) and not isinstance(values, bool):
        return {"fixed": float(values)}
    if isinstance(values, Iterable):
        return {"grid": _numbers(values, "values")}
    raise SettingsError(f"values = {values!r}: choose refined, sample, grid, gp-ucb, a number or a list of numbers")


def _belief(fit: Any) -> Fit:
    if not isinstance(fit, Fit):
        raise SettingsError(f"a Fit is needed, as seabed.fit returns it, not a {type(fit).__name__}")
    return fit


def design(
    fit: Fit,
    batch: int = 10,
    *,
    strategy: str | None = None,
    utility: Literal["edges", "graph", "ancestors", "model"] | None = None,
    goal: str | None = None,
    values: Literal["refined", "sample", "grid", "gp-ucb"] | float | Sequence[float] = "refined",
    replicates: int | Literal["auto"] | None = None,
    targets: Iterable[str] | None = None,
    forbidden: Iterable[str] = (),
    value_range: tuple[float, float] | None = None,
    bounds: Bounds | None = None,
    levels: Mapping[str, Iterable[float]] | None = None,
    cost: Mapping[str, float] | None = None,
    experiment_cost: float = 0.0,
    budget: float | None = None,
    max_repeats: int | None = None,
    max_targets: int = 1,
    pending: Iterable[Intervention] = (),
    samples: int | None = None,
    evaluations: int | None = None,
    temperature: float | Literal["relative"] | None = None,
    estimator: Literal["nested", "bound", "entropy"] | None = None,
    data: DataLike = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> Batch:
    """Chooses the experiments that are expected to teach the most, within what the laboratory can do.

    Parameters
    ----------
    fit : Fit
        What is believed.
    batch : int
        Number of experiments; of rows, if ``replicates="auto"``.
    strategy : str, optional
        How the batch is put together: cbed, greedy-cbed, soft-cbed, random, ait, soft-ait, abcd; of beliefs with graphs
        (mcmc-gp, mcmc-linear) also greedy-edges, greedy-graph and greedy-ancestors. By default greedy-edges, or greedy-cbed
        without graphs.
    utility : str, optional
        Instead of a strategy: what experiments, picked one after the other, are worth.
    goal : str, optional
        The question to answer: ``"edge=A,B"``, ``"parents=A"``, ``"descendants=A"`` or ``"effect=A,B"``; everything by default.
    values : str, number or list of numbers
        How values are chosen: ``"refined"`` (evenly spread, then more beside the best), ``"sample"``, ``"grid"``, ``"gp-ucb"``, one
        fixed value, or the only values to try.
    replicates : int or "auto", optional
        Rows per experiment [1]; "auto": one more row of an experiment competes with a new one.
    targets, forbidden : list of str, optional
        The variables that can be set [all that vary], and those that cannot.
    value_range : (float, float), optional
        Range that every variable can be set to, in the units of the data [from the least to the most that was measured or
        set, which a saved fit remembers; -10 to 10 if it does not, because an earlier version saved it].
    bounds, levels : dict, optional
        Per variable a range, ``{"A": (0, 1)}``, or the only values, ``{"A": [0, 1, 5]}``.
    cost : dict, optional
        Cost of a row in which a variable is set [1]. Designs are compared by information per cost.
    experiment_cost, budget : float, optional
        What an experiment costs besides its rows [0], and the most that the batch may cost.
    max_repeats, max_targets : int, optional
        Most experiments that set the same variable, most variables that one experiment sets [1].
    pending : list of dict
        Experiments whose outcomes are still to come, one per row.
    samples, evaluations : int, optional
        Outcomes simulated per draw [100; fewer for information about the model from many draws], values tried per target [5].
    temperature : float or "relative", optional
        Of the soft strategies, in nats.
    estimator : str, optional
        How information about the model is estimated.
    data : Dataset or what one is made from, optional
        What the values are taken from; by default the data of the fit.
    seed, threads, progress : optional
        As for :func:`fit`.

    Returns
    -------
    Batch
        The experiments, what they are expected to teach and what they would decide. Smaller than asked for if the budget
        does not allow more.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=4, mechanism="linear", seed=1).sample(100)
    >>> learned = seabed.fit(data, "mcmc-linear", draws=50)
    >>> batch = seabed.design(learned, batch=2, targets=["X1", "X2"], bounds={"X1": (0, 1)})
    >>> all(0 <= trial.targets["X1"] <= 1 for trial in batch if "X1" in trial.targets)
    True
    """
    belief = _belief(fit)
    source = belief.data if data is None else complete(as_dataset(data))
    remembered = belief._belief.remembered_constraints()
    constraints = constraints_json(
        belief.names,
        remembered if source is None else source._table.observed_constraints(),
        targets=targets,
        forbidden=forbidden,
        value_range=value_range,
        bounds=bounds,
        levels=levels,
        cost=cost,
        experiment_cost=experiment_cost,
        budget=budget,
        max_repeats=max_repeats,
        max_targets=max_targets,
    )
    request = request_json(
        batch, strategy, utility, values, replicates, samples, evaluations, temperature, estimator
    )
    waiting = designs_of(pending, "pending")
    with shown(progress) as callback:
        text = _seabed.design(
            belief._belief,
            None if source is None else source._table,
            belief._doubts(),
            request,
            as_text(goal, "goal"),
            constraints,
            waiting,
            checked_seed(seed),
            checked_threads(threads),
            callback,
        )
    chosen = made(text)
    # As the command does: checks where it starts from data.
    chosen.form["data_notes"] = [] if belief.data is None else belief.data._notes
    if belief.data is not None:
        chosen.form["checks"], _ = belief._checked()
    return chosen


def designs_of(designs: Any, key: str) -> list[list[tuple[str, float]]]:
    """Interventions, or trials of a batch, each as pairs."""
    if isinstance(designs, (str, Mapping)) or not isinstance(designs, Iterable):
        raise SettingsError(f"{key} = {designs!r}: give a list of experiments, [{{'A': 1.5}}]")
    return [as_pairs(one.targets if isinstance(one, Trial) else one, key) for one in designs]


def score(
    fit: Fit,
    designs: Iterable[Intervention],
    *,
    strategy: str | None = None,
    utility: Literal["edges", "graph", "ancestors", "model"] | None = None,
    goal: str | None = None,
    replicates: int | None = None,
    samples: int | None = None,
    estimator: Literal["nested", "bound", "entropy"] | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> pd.DataFrame:
    """What the user's own experiments are worth, each on its own.

    Parameters
    ----------
    fit : Fit
        What is believed.
    designs : list of dict
        What is set to what: ``[{"A": 1.5}, {"A": 0.0, "B": 2.0}]``.
    strategy, utility, goal, replicates, samples, estimator, seed, threads, progress : optional
        As for :func:`design`.

    Returns
    -------
    DataFrame
        The columns targets, information and standard_error; the unit is in ``frame.attrs["unit"]``.

    Examples
    --------
    >>> import seabed
    >>> data = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50)
    >>> learned = seabed.fit(data, "bootstrap", draws=5)
    >>> seabed.score(learned, [{"X1": 1.0}, {"X2": 1.0}]).shape
    (2, 3)
    """
    belief = _belief(fit)
    listed = designs_of(designs, "designs")
    request = request_json(1, strategy, utility, "refined", replicates, samples, None, None, estimator)
    with shown(progress) as callback:
        found, unit = _seabed.score(
            belief._belief,
            request,
            as_text(goal, "goal"),
            listed,
            checked_seed(seed),
            checked_threads(threads),
            callback,
        )
    frame = frame_of(
        [(dict(one), information, error) for one, (information, error) in zip(listed, found, strict=True)],
        columns=["targets", "information", "standard_error"],
    )
    frame.attrs["unit"] = unit
    return frame
