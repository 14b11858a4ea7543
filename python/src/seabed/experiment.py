"""The loop of asking and telling, in memory: :class:`Experiment`."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from . import _seabed
from ._files import read_bytes, write_atomically
from ._frames import differences, frame_of, typed
from ._progress import Progress, checked_progress, checked_seed, checked_threads, shown
from ._settings import Knowledge, as_number, as_text, knowledge_json, posterior_json
from .data import TARGETS_COLUMN, DataLike, Dataset, as_dataset, complete
from .design import Batch, Bounds, Trial, by_name, constraints_json, do, made, names_in, request_json
from .errors import DataError, SeabedError, SeabedWarning, SettingsError
from .posterior import Fit
from .posterior import made as made_fit

__all__ = ["Experiment"]

_VERSION = 1


class Experiment:
    """A campaign of experiments in memory: ask for a batch, carry it out, tell the outcomes, ask again.

    Parameters
    ----------
    variables : list of str, or dict
        The names of the variables; or a dict that says of each what can be done: ``None`` (only observed), a tuple ``(low, high)``
        for everything between, or a list of the only values that it can be set to. A list of two numbers could be meant as
        either, and is refused: write ``(0, 10)`` or ``{"levels": [0, 10]}``. With a list of names, every variable that
        varies can be set from the least to the most that was measured or set, unless ``bounds``, ``levels`` or
        ``forbidden`` say otherwise.
    posterior : str
        As for :func:`fit`; ``posterior_options`` are its further arguments.
    knowledge : dict, optional
        Background knowledge, as for :func:`fit`.
    goal, strategy, utility, values, targets, forbidden, value_range, bounds, levels, cost, experiment_cost, max_repeats, max_targets : optional
        How batches are chosen, as for :func:`design`.
    seed : int
        Of all randomness: the same calls give the same batches, on any number of threads.
    threads : int, optional
        All processors by default.
    progress : bool or callable, optional
        As for :func:`fit`.

    Examples
    --------
    >>> import seabed
    >>> world = seabed.worlds.er(nodes=4, mechanism="linear", seed=1)
    >>> exp = seabed.Experiment(world.names, posterior="mcmc-linear", posterior_options={"draws": 50}, seed=7)
    >>> exp.tell(world.sample(50))
    >>> for round in range(2):
    ...     batch = exp.ask(3)
    ...     exp.tell(batch, world.run(batch, seed=round))
    >>> len(exp.data), len(exp.pending)
    (56, 0)
    """

    def __init__(
        self,
        variables: Sequence[str] | Mapping[str, Any],
        *,
        posterior: str = "mcmc-gp",
        posterior_options: Mapping[str, Any] | None = None,
        knowledge: Knowledge = None,
        goal: str | None = None,
        strategy: str | None = None,
        utility: Literal["edges", "graph", "ancestors", "model"] | None = None,
        values: Any = "refined",
        targets: Iterable[str] | None = None,
        forbidden: Iterable[str] = (),
        value_range: tuple[float, float] | None = None,
        bounds: Bounds | None = None,
        levels: Mapping[str, Iterable[float]] | None = None,
        cost: Mapping[str, float] | None = None,
        experiment_cost: float = 0.0,
        max_repeats: int | None = None,
        max_targets: int = 1,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = None,
    ) -> None:
        if isinstance(variables, str) or not isinstance(variables, (Mapping, Sequence, np.ndarray, pd.Index)):
            raise SettingsError("variables: give a list of names, or a dict of what each can be set to")
        odd = next((name for name in variables if isinstance(name, (Mapping, list, tuple, set))), None)
        if odd is not None:
            raise SettingsError(
                f"variables: {odd!r} is not a name; give a list of names, or what each can be set to by name, "
                'as in {"dose": (0.0, 1.0)}'
            )
        self._names = [str(name) for name in variables]
        if not self._names:
            raise SettingsError("variables: give at least one name")
        limits = {name: _plain(pair) for name, pair in by_name(bounds, "bounds").items()}
        only = {name: _plain(values_) for name, values_ in by_name(levels, "levels").items()}
        refused = names_in(forbidden, self._names, "forbidden")
        if isinstance(variables, Mapping):
            for name, can in variables.items():
                key, said = _possible(can, f"variables[{name!r}]")
                if key == "bounds":
                    limits[str(name)] = said
                elif key == "levels":
                    only[str(name)] = said
                else:
                    refused.append(str(name))
        self._choice: dict[str, Any] = {
            "goal": as_text(goal, "goal"),
            "strategy": strategy,
            "utility": utility,
            "values": _plain(values),
            "targets": None if targets is None else names_in(targets, self._names, "targets"),
            "forbidden": refused,
            "value_range": _plain(value_range),
            "bounds": limits,
            "levels": only,
            "cost": by_name(cost, "cost"),
            "experiment_cost": experiment_cost,
            "max_repeats": max_repeats,
            "max_targets": max_targets,
        }
        self._posterior = (posterior, posterior_json(posterior, posterior_options or {}), knowledge_json(knowledge))
        self._seed = checked_seed(seed)
        self._threads = checked_threads(threads)
        self._progress = checked_progress(progress)
        self._loop: _seabed.Loop | None = None
        self._pending: list[Trial] = []
        self._asked: list[dict[str, Any]] = []
        self._next = 0
        self._lock = threading.RLock()
        # Settings that cannot be used are told now, not after an hour of fitting.
        _seabed.check_experiment(
            self._names, *self._posterior, self._request(1, None), self._choice["goal"], self._constraints(None)
        )

    # What is known

    @property
    def names(self) -> list[str]:
        """The variables."""
        return list(self._names)

    @property
    def data(self) -> Dataset | None:
        """All data so far; None before the first ones were told."""
        return None if self._loop is None else Dataset._of(self._loop.table())

    @property
    def pending(self) -> list[Trial]:
        """The experiments that were asked for and have no outcomes yet; ``rows`` are the outcomes still to come."""
        return list(self._pending)

    @property
    def trials(self) -> pd.DataFrame:
        """All experiments that were asked for, by their numbers: the columns targets (a dict), rows, told and state.

        ``rows`` is how often it was to be done, ``told`` how many outcomes were told, and ``state`` is pending, told or
        abandoned; an experiment of which some outcomes were told and the others given up is told.
        """
        waiting = {trial.id for trial in self._pending}
        rows = [
            (dict(one["targets"]), one["rows"], one["told"], _state(one, waiting))
            for one in self._asked
        ]
        index = pd.Index([one["id"] for one in self._asked], name="trial", dtype="int64")
        return frame_of(rows, columns=["targets", "rows", "told", "state"], index=index)

    # Asking and telling

    def ask(self, n: int = 1, *, replicates: int | Literal["auto"] | None = None, budget: float | None = None) -> Batch:
        """The next experiments, beyond those that are pending; they are pending from now on.

        Learns from the data first, if that was not done. After Ctrl-C the next call goes on where the fit was stopped.

        Parameters
        ----------
        n : int
            Number of experiments; of rows, if ``replicates="auto"``.
        replicates : int or "auto", optional
            Rows per experiment [1].
        budget : float, optional
            Most that the batch may cost.

        Returns
        -------
        Batch
            Every trial has a number, ``id``.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> len(exp.ask(2)), len(exp.pending)
        (2, 2)
        """
        with self._lock, shown(self._progress) as callback:
            loop = self._told()
            request = self._request(n, replicates)
            constraints = self._constraints(loop.table().observed_constraints(), budget)
            rows = [list(trial.targets.items()) for trial in self._pending for _ in range(trial.rows)]
            text, _ = loop.ask(request, self._choice["goal"], constraints, rows, self._threads, callback)
            count = len(json.loads(text)["form"]["batch"])
            batch = made(text, range(self._next, self._next + count))
            self._next += count
            self._pending.extend(batch)
            self._asked.extend({"id": one.id, "targets": dict(one.targets), "rows": one.rows, "told": 0} for one in batch)
            return batch

    def tell(
        self,
        data: Batch | Trial | int | Sequence[Trial | int] | DataLike,
        outcomes: DataLike = None,
        *,
        interventions: Any = None,
    ) -> None:
        """Records what was measured. On an error nothing is changed.

        Parameters
        ----------
        data : Dataset or what one is made from; or a Batch, a Trial, its number, or a list of trials or numbers
            Measurements, with their targets; or what was asked for (after a restart, :attr:`pending`), and then ``outcomes``
            are its results. Measurements whose targets are those of a pending experiment answer it. Measurements with
            missing cells are set aside, with a warning.
        outcomes : Dataset or what one is made from, optional
            Of a batch: one row per outcome, in its order, repeated experiments one after the other. Targets may be left out
            and are then taken as proposed; a value that differs from the proposed one is what was really set, and a
            warning if that is more than rounding. Rows that are those of other trials are refused. A row of which nothing was
            measured (None or NaN) failed, and is abandoned; one of which only a part was measured is refused.
        interventions : optional
            Of plain data, as for :class:`Dataset`.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> batch = exp.ask(2)
        >>> exp.tell(batch, world.run(batch))
        >>> len(exp.data)
        52
        """
        listed = _listed(data)
        if listed is not None:
            with self._lock:
                self._tell_batch([self._found(one) for one in listed], outcomes)
            return
        if outcomes is not None:
            raise SettingsError("outcomes belong to a batch: tell(batch, outcomes), or tell(data) alone")
        table = complete(as_dataset(data, interventions))
        values, names = table.values, table.names
        with self._lock:
            self._doubt(table)
            self._take(table)
            for row, targets in enumerate(table.targets):
                if targets:
                    self._answered({name: values[row, names.index(name)] for name in targets})

    def abandon(self, trials: Batch | Trial | int | Iterable[Trial | int] | None = None) -> None:
        """Gives up pending experiments: they failed, or will not be made.

        Parameters
        ----------
        trials : Batch, Trial, number of a trial, or several; optional
            All by default.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> exp.abandon(exp.ask(2))
        >>> exp.pending
        []
        """
        with self._lock:
            self._abandon(trials)

    def _abandon(self, trials: Batch | Trial | int | Iterable[Trial | int] | None) -> None:
        if trials is None:
            self._pending.clear()
            return
        listed = [trials] if isinstance(trials, (Trial, int, np.integer)) else list(trials)
        numbers = {one.id if isinstance(one, Trial) else one for one in listed}
        known = {trial.id for trial in self._pending}
        unknown = [number for number in numbers if number not in known]
        if unknown:
            raise SettingsError(f"trial {unknown[0]!r} is not pending; pending are {sorted(map(str, known))}")
        self._pending = [trial for trial in self._pending if trial.id not in numbers]

    def fit(self) -> Fit:
        """What is believed after all data.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> exp.fit().names
        ['X1', 'X2', 'X3']
        """
        with self._lock, shown(self._progress) as callback:
            loop = self._told()
            parts = loop.fit(self._threads, callback)
        return made_fit(parts, Dataset._of(loop.table()), self._threads)

    # Saving

    def to_json(self) -> str:
        """Everything that the next answer depends on, for :meth:`from_json`."""
        posterior, changes, knowledge = self._posterior
        saved = {
            "seabed-experiment": _VERSION,
            "names": self._names,
            "choice": self._choice,
            "posterior": posterior,
            "changes": changes,
            "knowledge": knowledge,
            "seed": self._seed,
            "pending": [vars(trial) for trial in self._pending],
            "trials": self._asked,
            "next": self._next,
            "campaign": None if self._loop is None else json.loads(self._loop.to_json()),
        }
        return json.dumps(saved, allow_nan=False, default=_number)

    @classmethod
    def from_json(cls, text: str, *, threads: int | None = None, progress: Progress = None) -> Experiment:
        """What :meth:`to_json` gave.

        Parameters
        ----------
        text : str
            JSON.
        threads, progress : optional
            As for :class:`Experiment`; they are not saved.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> seabed.Experiment.from_json(exp.to_json()).data == exp.data
        True
        """
        try:
            saved = json.loads(text)
            version = saved["seabed-experiment"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise SettingsError("this is no saved experiment") from error
        if not isinstance(version, int) or version > _VERSION:
            raise SettingsError(f"the experiment has version {version}, newer than {_VERSION}; use a newer seabed")
        found = cls.__new__(cls)
        found._threads = checked_threads(threads)
        found._progress = checked_progress(progress)
        found._lock = threading.RLock()
        try:
            found._names = saved["names"]
            found._choice = saved["choice"]
            found._posterior = (saved["posterior"], saved["changes"], saved["knowledge"])
            found._seed = saved["seed"]
            found._pending = [Trial(**trial) for trial in saved["pending"]]
            # Earlier versions saved only what was pending.
            found._asked = [dict(one) for one in saved.get("trials", [])] or [
                {"id": one.id, "targets": dict(one.targets), "rows": one.rows, "told": 0} for one in found._pending
            ]
            found._next = saved["next"]
            campaign = saved["campaign"]
            found._loop = None if campaign is None else _seabed.Loop.from_json(json.dumps(campaign))
        except SeabedError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise SettingsError(f"the saved experiment is damaged: {error}") from error
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes :meth:`to_json` to a file, completely or not at all."""
        write_atomically(path, self.to_json().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress = None) -> Experiment:
        """What :meth:`save` wrote.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> exp = seabed.Experiment(world.names, posterior="bootstrap", posterior_options={"draws": 5})
        >>> exp.tell(world.sample(50))
        >>> exp.save("experiment.json")
        >>> len(seabed.Experiment.load("experiment.json").data)
        50
        """
        text = read_bytes(path).decode(errors="replace")
        return cls.from_json(text, threads=threads, progress=progress)

    def __reduce__(self) -> tuple[Any, ...]:
        return Experiment.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        rows = 0 if self._loop is None else self._loop.table().rows
        waiting = sum(trial.rows for trial in self._pending)
        return f"Experiment: {len(self._names)} variables, {rows} rows, {waiting} outcomes pending, {self._posterior[0]}"

    # Parts

    def _told(self) -> _seabed.Loop:
        if self._loop is None:
            raise DataError("there are no data yet; tell some first: exp.tell(observations)")
        return self._loop

    def _request(self, n: int, replicates: Any) -> str:
        choice = self._choice
        return request_json(
            n, choice["strategy"], choice["utility"], choice["values"], replicates, None, None, None, None
        )

    def _constraints(self, observed: str | None, budget: float | None = None) -> str:
        kept = {key: self._choice[key] for key in self._choice if key not in ("goal", "strategy", "utility", "values")}
        return constraints_json(self._names, observed, budget=budget, **kept)

    def _take(self, table: Dataset) -> None:
        if sorted(table.names) != sorted(self._names):
            missing = [name for name in self._names if name not in table.names]
            extra = [name for name in table.names if name not in self._names]
            raise DataError(f"these are other variables than those of the experiment: {differences(missing, extra)}")
        if self._loop is None:
            ordered = Dataset(table.to_pandas()[[*self._names, TARGETS_COLUMN]]) if table.names != self._names else table
            posterior, changes, knowledge = self._posterior
            self._loop = _seabed.Loop(ordered._table, posterior, changes, knowledge, self._seed)
        else:
            self._loop.tell(table._table)

    def _doubt(self, table: Dataset) -> None:
        """Warns of rows without targets that hold, to the last digit, what a pending experiment was to set."""
        for trial in self._pending:
            if not set(trial.targets) <= set(table.names):
                continue
            same = [table.values[:, table.names.index(name)] == value for name, value in trial.targets.items()]
            rows = [row for row in np.flatnonzero(np.all(same, axis=0)) if not table.targets[row]]
            if rows:
                said = (
                    f"row {rows[0]} has what trial {trial.id} was to set, {do(trial.targets)}, but is taken as an observation: "
                    "tell(batch, outcomes) records outcomes, and a column intervention_targets says what was set"
                )
                warnings.warn(said, SeabedWarning, stacklevel=3)
                return

    def _answered(self, place: Mapping[str, float]) -> None:
        """One outcome less of the pending experiment that set these variables, to these values if there is one."""
        same = [k for k, trial in enumerate(self._pending) if set(trial.targets) == set(place)]
        exact = [k for k in same if all(self._pending[k].targets[name] == value for name, value in place.items())]
        for k in (exact or same)[:1]:
            self._less(k)

    def _less(self, k: int) -> None:
        trial = self._pending[k]
        self._count(trial, 1)
        if trial.rows > 1:
            self._pending[k] = Trial(**{**vars(trial), "rows": trial.rows - 1})
        else:
            del self._pending[k]

    def _count(self, trial: Trial, outcomes: int) -> None:
        for one in self._asked:
            if one["id"] == trial.id:
                one["told"] += outcomes

    def _found(self, trial: Trial | int) -> Trial:
        """A pending trial by its number."""
        if isinstance(trial, Trial):
            return trial
        found = [one for one in self._pending if one.id == trial]
        if not found:
            raise SettingsError(f"trial {trial} is not pending: it was told or abandoned, or is not of this experiment")
        return found[0]

    def _check_set(self, rows: Mapping[int, Trial], values: Any) -> None:
        """Rows in which other values were set than asked for: refused if they are those of other trials, else believed, and said."""
        place = {name: k for k, name in enumerate(self._names)}
        data = None if self._loop is None else self._loop.table()
        spread = {name: 1.0 if data is None else float(data.column(k).std()) for name, k in place.items()}

        def same(row: int, targets: Mapping[str, float], part: float) -> bool:
            told = {name: values[row, place[name]] for name in targets}
            return all(abs(told[name] - value) <= part * max(abs(value), spread[name]) for name, value in targets.items())

        said: list[str] = []
        # Rows that changed places are both off: a measured 0 beside another trial that sets 0 is none.
        off = {row: trial for row, trial in rows.items() if not same(row, trial.targets, _ROUNDING)}
        for row, trial in off.items():
            told = {name: float(values[row, place[name]]) for name in trial.targets}
            for other in off.values():
                if other.targets != trial.targets and same(row, other.targets, 1e-6):
                    raise DataError(
                        f"row {row + 1} is to answer trial {trial.id}, {do(trial.targets)}, but holds {do(told)}: it looks like the "
                        f"row of trial {other.id}, {do(other.targets)}; give the outcomes in the order of the trials"
                    )
            beyond = "".join(f"; {limit}" for limit in (self._beyond(name, value) for name, value in told.items()) if limit)
            said.append(f"trial {trial.id} asked for {do(trial.targets)}, but {do(told)} is told{beyond}")
        if said:
            more = f" (and {len(said) - 1} more like this)" if len(said) > 1 else ""
            warnings.warn(f"{said[0]}{more}; what is told is believed", SeabedWarning, stacklevel=4)

    def _beyond(self, name: str, value: float) -> str:
        """Why a variable cannot be set to this value; nothing if it can."""
        if name in self._choice["levels"]:
            levels = [float(level) for level in self._choice["levels"][name]]
            return "" if value in levels else f"the levels of {name} are {', '.join(f'{level:g}' for level in levels)}"
        low, high = self._choice["bounds"].get(name) or self._choice["value_range"] or (-np.inf, np.inf)
        return "" if float(low) <= value <= float(high) else f"{name} can be set from {float(low):g} to {float(high):g}"

    def _tell_batch(self, trials: list[Trial], outcomes: DataLike) -> None:
        if outcomes is None:
            raise SettingsError("tell(batch) needs its outcomes: tell(batch, outcomes); abandon(batch) gives it up")
        expected = [trial for trial in trials for _ in range(trial.rows)]
        # Numbers begin at 0 in every experiment: the targets tell whose trial it is.
        ours = {trial.id: trial.targets for trial in self._pending}
        unknown = [trial for trial in trials if ours.get(trial.id) != trial.targets]
        if unknown:
            raise SettingsError(f"trial {unknown[0].id} is not pending: it was told or abandoned, or is not of this experiment")
        frame = _outcome_frame(outcomes, self._names, expected)
        if len(frame) != len(expected):
            raise DataError(f"the batch has {len(expected)} outcomes, but {len(frame)} rows are given")
        kept: list[int] = []
        for row, trial in enumerate(expected):
            others = [name for name in self._names if name not in trial.targets]
            measured = frame.iloc[row][others if others else self._names]
            if bool(measured.isna().all()):
                continue
            if bool(measured.isna().any()):
                lacking = str(measured.index[measured.isna()][0])
                raise DataError(
                    f"row {row + 1} (trial {trial.id}) has no value of {lacking!r}: only rows of which everything was measured are "
                    "learned from; give None instead of the row to give the experiment up"
                )
            kept.append(row)
        values = frame.to_numpy(dtype=np.float64, copy=True)
        for row, trial in enumerate(expected):
            for name, value in trial.targets.items():
                if np.isnan(values[row, self._names.index(name)]):
                    values[row, self._names.index(name)] = value
        self._check_set({row: expected[row] for row in kept}, values)
        if kept:
            targets = [list(expected[row].targets) for row in kept]
            self._take(Dataset(values[kept], names=self._names, interventions=targets))
        for row in kept:
            self._count(expected[row], 1)
        numbers = {trial.id for trial in trials}
        self._pending = [trial for trial in self._pending if trial.id not in numbers]


#: What was set differs from what was asked for if it is by more than this part of the value, or of the variable's standard deviation.
_ROUNDING = 0.01


def _state(asked: Mapping[str, Any], waiting: set[Any]) -> str:
    return "pending" if asked["id"] in waiting else "told" if asked["told"] else "abandoned"


def _listed(data: Any) -> list[Trial | int] | None:
    """What was asked for, as a list; None if it is something else."""
    if _is_trial(data):
        return [data]
    if isinstance(data, Batch) or (isinstance(data, (list, tuple)) and data and all(_is_trial(one) for one in data)):
        return list(data)
    return None


def _is_trial(one: Any) -> bool:
    return isinstance(one, (Trial, int, np.integer)) and not isinstance(one, bool)


def _possible(can: Any, key: str) -> tuple[str, Any]:
    """What can be done with a variable: its bounds, its levels, or nothing."""
    if can is None:
        return "", None
    if isinstance(can, Mapping):
        if len(can) != 1 or next(iter(can)) not in ("bounds", "levels"):
            raise SettingsError(f"{key} = {can!r}: give {{'bounds': (low, high)}} or {{'levels': [value, …]}}")
        ((name, value),) = can.items()
        return str(name), _plain(value)
    if isinstance(can, tuple) and len(can) == 2:
        return "bounds", list(can)
    if isinstance(can, str) or not isinstance(can, Iterable):
        raise SettingsError(f"{key} = {can!r}: give None, (low, high) or a list of values")
    levels = [as_number(value, key) for value in can]
    if len(levels) == 2 and not isinstance(can, (set, frozenset)):
        low, high = levels
        raise SettingsError(
            f"{key} = {can!r} may be a range or two levels: write ({low:g}, {high:g}) for all values between, or "
            f"{{'levels': [{low:g}, {high:g}]}} for these two only"
        )
    return "levels", levels


def _number(value: Any) -> Any:
    """A number of numpy as JSON can keep it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be saved")


def _plain(value: Any) -> Any:
    """As JSON can keep it; what is wrong with it is told where it is used."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else value


def _outcome_frame(outcomes: Any, names: list[str], expected: list[Trial]) -> pd.DataFrame:
    """Outcomes in the order of the variables; targets that are not given are missing."""
    if isinstance(outcomes, Dataset):
        frame = outcomes.to_pandas()
    elif isinstance(outcomes, np.ndarray):
        frame = Dataset(outcomes, names=names).to_pandas()
    elif isinstance(outcomes, Mapping) and not any(isinstance(v, Iterable) for v in outcomes.values()):
        frame = Dataset([dict(outcomes)]).to_pandas()
    elif isinstance(outcomes, Sequence) and any(row is None for row in outcomes):
        blank = dict.fromkeys(names)
        frame = Dataset([blank if row is None else {**blank, **dict(row)} for row in outcomes]).to_pandas()
    else:
        frame = as_dataset(outcomes).to_pandas()
    if TARGETS_COLUMN in frame:
        for row, (said, trial) in enumerate(zip(frame[TARGETS_COLUMN], expected, strict=False)):
            given = {name for name in said.split(";") if name}
            if given and given != set(trial.targets):
                raise DataError(f"row {row + 1} says that {said} was set, but the batch sets {';'.join(trial.targets)}")
        frame = frame.drop(columns=TARGETS_COLUMN)
    extra = [name for name in frame.columns if name not in names]
    if extra:
        raise DataError(f"the outcomes have a column {extra[0]!r}, which is no variable")
    ever_set = {name for trial in expected for name in trial.targets}
    lacking = [name for name in names if name not in frame.columns and name not in ever_set]
    if lacking:
        raise DataError(f"the outcomes have no column {lacking[0]!r}; missing values are NaN")
    return typed(frame.reindex(columns=names).astype(float))
