"""The campaign of a real laboratory in one crash-safe file: :class:`Campaign`, on the same file as ``seabed lab``."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from . import _seabed
from ._files import read_bytes, write_atomically
from ._frames import frame_of, typed
from ._progress import Progress, checked_seed, checked_threads, shown
from ._settings import as_json, as_number, as_text
from .data import DataLike, Dataset, as_dataset, reading_json
from .design import Batch, made
from .errors import CampaignError, SeabedWarning, SettingsError

__all__ = ["Campaign"]


class Campaign:
    """The file of a laboratory: data, proposals, results and beliefs.

    Every call that changes it is one action, made completely or not at all; nothing is ever deleted, and the last action can be
    undone. The command ``seabed lab`` and several people may use the same file.

    Parameters
    ----------
    path : path
        The file of an existing campaign; :meth:`new` creates one.
    wait : float
        Seconds to wait while another process writes to it.

    Examples
    --------
    >>> import seabed
    >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
    >>> lab = seabed.Campaign.new("cells.lab", data=world.sample(50))
    >>> batch = lab.propose(2, posterior="mcmc-linear")
    >>> form = lab.form()
    >>> form.loc[:, world.names] = world.run(batch).to_pandas()[world.names].to_numpy()
    >>> lab.record(form)["done"]
    2
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = 30.0) -> None:
        self._path = Path(path)
        self._wait = as_number(wait, "wait")
        self._file = _seabed.LabFile(os.fspath(self._path), self._wait)

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        *,
        variables: str | os.PathLike[str] | Mapping[str, Mapping[str, Any]] | None = None,
        data: DataLike = None,
        seed: int = 0,
        note: str = "",
        wait: float = 30.0,
    ) -> Campaign:
        """Creates a campaign.

        Parameters
        ----------
        path : path
            Where to; an existing file is never replaced.
        variables : path, TOML text, or dict, optional
            What ``seabed lab new --variables`` takes; or per variable a dict with the keys unit, transform, intervene, bounds,
            levels, cost: ``{"dose": {"unit": "nM", "intervene": True, "bounds": (0, 10)}, "growth": {}}``.
        data : Dataset or what one is made from, optional
            First measurements. Without ``variables``, these are drafted from them: every variable can be set within what
            was observed.
        seed : int
            Of the campaign.
        note : str
            For the history.
        wait : float
            Seconds to wait while another process writes to it.

        Returns
        -------
        Campaign

        Examples
        --------
        >>> import seabed
        >>> can = {"dose": {"unit": "nM", "intervene": True, "bounds": (0, 10)}, "growth": {}}
        >>> seabed.Campaign.new("new.lab", variables=can).variables["name"].tolist()
        ['dose', 'growth']
        """
        if variables is None and data is None:
            raise SettingsError("give the variables, or data to draft them from")
        table = None if data is None else as_dataset(data)
        if variables is None:
            assert table is not None
            text = _seabed.lab_draft(table.dropna()._table, "data")
        else:
            text = _variables_toml(variables)
        _seabed.lab_create(os.fspath(path), text, checked_seed(seed), note)
        campaign = cls(path, wait=wait)
        if table is not None:
            campaign.add(table)
        return campaign

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def variables(self) -> pd.DataFrame:
        """One row per variable: name, unit, transform, and what it can be set to."""
        return frame_of(json.loads(self._file.variables()[0]))

    @property
    def data(self) -> Dataset | None:
        """The complete rows in force, transformed as for a fit; None if there are none."""
        table = self._file.table()
        return None if table is None else Dataset._of(table)

    @property
    def edge_probabilities(self) -> pd.DataFrame | None:
        """The probability of every edge, row -> column, of the newest belief; None before the first."""
        rows = self._file.edge_probabilities()
        names = list(self.variables["name"])
        return None if rows is None else frame_of(rows, index=names, columns=names)

    def add(
        self,
        data: DataLike | str | os.PathLike[str],
        *,
        again: bool = False,
        only_new: bool = False,
        ignore: Iterable[str] = (),
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing: Iterable[str] = (),
        note: str = "",
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Adds measurements: observations, or rows in which variables were set.

        Parameters
        ----------
        data : path, or Dataset or what one is made from
            Cells may be missing: the row is kept, but left out of fits.
        again : bool
            Add all rows, even those that the campaign has already.
        only_new : bool
            Add only the rows that it does not have yet.
        ignore : list of str
            Columns to leave out.
        separator, decimal, encoding, sheet, missing : optional
            How a file is written, as for :meth:`Dataset.read`.
        note : str
            For the history.
        progress : bool or callable, optional
            As for :func:`fit`.

        Returns
        -------
        dict
            Counts: rows, known, interventional, incomplete; notes on what was guessed about a file, and warnings.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("add.lab", data=world.sample(50))
        >>> lab.add(world.sample(5, seed=2))["rows"]
        5
        """
        left_out = [ignore] if isinstance(ignore, str) else list(ignore)
        options = reading_json(left_out, separator, decimal, encoding, sheet, missing)
        with shown(progress) as callback:
            if isinstance(data, (str, os.PathLike)):
                text = self._file.add(os.fspath(data), again, only_new, options, note, callback)
            else:
                with tempfile.TemporaryDirectory() as folder:
                    place = os.path.join(folder, "data.csv")
                    as_dataset(data).to_pandas().drop(columns=left_out).to_csv(place, index=False)
                    text = self._file.add(place, again, only_new, "{}", note, callback)
        return _told(text)

    def propose(
        self,
        batch: int = 8,
        *,
        posterior: str = "mcmc-gp",
        strategy: str | None = None,
        values: Literal["refined", "gp-ucb", "grid", "sample", "fixed"] = "refined",
        replicates: int | Literal["auto"] | None = None,
        goal: str | None = None,
        budget: float | None = None,
        experiment_cost: float = 0.0,
        max_repeats: int | None = None,
        max_targets: int = 1,
        posterior_options: Mapping[str, Any] | None = None,
        design_options: Mapping[str, Any] | None = None,
        note: str = "",
        threads: int | None = None,
        progress: Progress = None,
    ) -> Batch:
        """Proposes the next batch and stores it; pending experiments are taken into account.

        Parameters
        ----------
        batch, strategy, values, replicates, goal, budget, experiment_cost, max_repeats, max_targets
            As for :func:`design`; what can be set to which values is in the file of variables.
        posterior : str
            As for :func:`fit`.
        posterior_options, design_options : dict, optional
            Any other key of the groups posterior and design, as for ``seabed lab propose --set``.
        note : str
            For the history.
        threads, progress : optional
            As for :func:`fit`.

        Returns
        -------
        Batch
            Every trial has the name of its experiment, ``id``, as in :meth:`form`.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("propose.lab", data=world.sample(50))
        >>> [trial.id for trial in lab.propose(2, posterior="mcmc-linear")]
        ['E001', 'E002']
        """
        dashed = {key.replace("_", "-"): value for key, value in (posterior_options or {}).items()}
        design = {key.replace("_", "-"): value for key, value in (design_options or {}).items()}
        design |= {"batch": batch, "values": values, "experiment-cost": as_number(experiment_cost, "experiment_cost")}
        if strategy is not None:
            design["strategy"] = strategy
        if replicates is not None:
            design["replicates"] = replicates
        request = {
            "posterior": dashed,
            "design": design,
            "budget": budget,
            "max-repeats": max_repeats,
            "max-targets": max_targets,
        }
        with shown(progress) as callback:
            text = self._file.propose(
                posterior, as_json(request), as_text(goal, "goal"), note, checked_threads(threads), callback
            )
        form = json.loads(text)["form"]
        proposed = made(text, [chosen["experiment"] for chosen in form["batch"]])
        of_fit = [form["belief"]["warning"]] if form["belief"].get("warning") else []
        for sentence in [*of_fit, *form["belief"].get("cautions", [])]:
            warnings.warn(sentence, SeabedWarning, stacklevel=2)
        return dataclasses.replace(proposed, names=list(self.variables["name"]))

    def form(self, proposal: int | None = None) -> pd.DataFrame:
        """The form of a proposal to fill in, with the results recorded so far.

        Parameters
        ----------
        proposal : int, optional
            Its number; by default the last one.

        Returns
        -------
        DataFrame
            One row per outcome: experiment, replicate, the variables, intervention_targets, status.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("form.lab", data=world.sample(50))
        >>> batch = lab.propose(2, posterior="mcmc-linear")
        >>> lab.form()["experiment"].tolist()
        ['E001', 'E002']
        """
        if proposal is None:
            rounds = self.status()["rounds"]
            if not rounds:
                raise CampaignError("there is no proposal yet; make one with propose()")
            proposal = int(rounds[-1]["proposal"])
        names = list(self.variables["name"])
        frame = pd.read_csv(io.StringIO(self._file.form(proposal)), dtype={name: float for name in names})
        texts = [column for column in frame.columns if column not in names and column != "replicate"]
        return typed(frame.astype({column: object for column in texts}).fillna({column: "" for column in texts}))

    def record(
        self,
        form: pd.DataFrame | str | os.PathLike[str],
        *,
        again: bool = False,
        ignore: Iterable[str] = (),
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing: Iterable[str] = (),
        note: str = "",
    ) -> dict[str, Any]:
        """Records a filled-in form.

        Parameters
        ----------
        form : DataFrame or path
            From :meth:`form` or of ``seabed lab propose``. Rows that are not filled in stay pending; ``status`` may be
            ``failed``.
        again : bool
            Record rows that were not proposed even if the same were recorded before.
        ignore : list of str
            Columns to leave out.
        separator, decimal, encoding, sheet, missing : optional
            How a file is written, as for :meth:`Dataset.read`.
        note : str
            For the history.

        Returns
        -------
        dict
            Counts: done, failed, changed, known, blank; extra experiments, notes on what was guessed about a file, and
            warnings.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("record.lab", data=world.sample(50))
        >>> batch = lab.propose(2, posterior="mcmc-linear")
        >>> form = lab.form()
        >>> form.loc[:, world.names] = world.run(batch).to_pandas()[world.names].to_numpy()
        >>> lab.record(form)["done"]
        2
        """
        name, content = _form(form)
        options = reading_json(ignore, separator, decimal, encoding, sheet, missing)
        return _told(self._file.record(name, content, False, again, options, note))

    def amend(
        self,
        what: pd.DataFrame | str | os.PathLike[str],
        *,
        replicate: int = 1,
        values: Mapping[str, float | None] | None = None,
        status: Literal["done", "failed", "pending"] | None = None,
        note: str = "",
    ) -> dict[str, Any]:
        """Corrects what was recorded; the old values stay in the history.

        Parameters
        ----------
        what : str, DataFrame or path
            The name of an experiment (``"E003"``), or a corrected form.
        replicate : int
            Of the experiment, from 1 on.
        values : dict, optional
            Corrected values of the experiment; None if a value is missing.
        status : str, optional
            The corrected status.
        note : str
            For the history.

        Returns
        -------
        dict
            As of :meth:`record`.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("amend.lab", data=world.sample(50))
        >>> batch = lab.propose(2, posterior="mcmc-linear")
        >>> form = lab.form()
        >>> form.loc[:, world.names] = world.run(batch).to_pandas()[world.names].to_numpy()
        >>> recorded = lab.record(form)
        >>> lab.amend("E001", status="failed", note="wrong tube")["changed"]
        1
        """
        if values is not None or status is not None:
            if not isinstance(what, str):
                raise SettingsError("values and status correct a single experiment; name it")
            given = [(str(k), None if v is None else as_number(v, f"values[{k!r}]")) for k, v in (values or {}).items()]
            return _told(self._file.amend(what, int(replicate), given, status, note))
        if isinstance(what, str) and not what.endswith(".csv"):
            raise SettingsError(f"{what}: say what to correct, with values or status")
        name, content = _form(what)
        return _told(self._file.record(name, content, True, False, "{}", note))

    def undo(self) -> str:
        """Undoes the last action; it stays in the history.

        Returns
        -------
        str
            What was undone.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("undo.lab", data=world.sample(50))
        >>> batch = lab.propose(2, posterior="mcmc-linear")
        >>> undone = lab.undo()
        >>> lab.status()["pending"]
        []
        """
        return self._file.undo()

    def status(
        self, *, learn: bool = False, next_batch: bool = False, threads: int | None = None, progress: Progress = None
    ) -> dict[str, Any]:
        """What is pending, what has been learned, and whether more experiments are worthwhile.

        Parameters
        ----------
        learn : bool
            Learn from all data first.
        next_batch : bool
            Learn from all data first, and estimate what another batch like the last one would teach (``next_information``),
            which takes as long as proposing it.
        threads, progress : optional
            As for :func:`fit`.

        Returns
        -------
        dict
            What ``seabed lab status --json`` prints.

        Examples
        --------
        >>> import seabed
        >>> world = seabed.worlds.er(nodes=3, mechanism="linear", seed=1)
        >>> lab = seabed.Campaign.new("status.lab", data=world.sample(50))
        >>> lab.status()["rows"]
        50
        """
        with shown(progress) as callback:
            text = self._file.status(learn, next_batch, checked_threads(threads), callback)
        found: dict[str, Any] = json.loads(text)
        return found

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report: one self-contained HTML page.

        Parameters
        ----------
        path : path, optional
            Where to write it, too.

        Returns
        -------
        str
            The page.
        """
        page = self._file.report(self._path.stem)
        if path is not None:
            write_atomically(path, page.encode())
        return page

    def export(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes everything as CSV and JSON into a folder.

        Parameters
        ----------
        folder : path
            Made if it does not exist.

        Returns
        -------
        list of str
            The files.
        """
        return self._file.export(os.fspath(folder))

    def check(self) -> list[str]:
        """Looks for damage in the file: sentences, none if it is sound."""
        return self._file.check()

    def __repr__(self) -> str:
        found = self.status()
        return f"Campaign {self._path}: {found['rows']} measurements, {len(found['pending'])} outcomes pending"

    def __reduce__(self) -> tuple[Any, ...]:
        return Campaign, (self._path,)


def _told(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    for sentence in found.get("warnings", []):
        warnings.warn(sentence, SeabedWarning, stacklevel=3)
    return found


def _form(form: pd.DataFrame | str | os.PathLike[str]) -> tuple[str, bytes]:
    if isinstance(form, pd.DataFrame):
        return "the form", form.to_csv(index=False).encode()
    if not isinstance(form, (str, os.PathLike)):
        raise SettingsError(f"a form is a DataFrame or the path of a file, not a {type(form).__name__}")
    return os.fspath(form), read_bytes(form)


def _variables_toml(variables: str | os.PathLike[str] | Mapping[str, Mapping[str, Any]]) -> str:
    if isinstance(variables, Mapping):
        parts: list[str] = []
        for name, what in variables.items():
            if not isinstance(what, Mapping):
                raise SettingsError(
                    f"variables[{name!r}]: a dict such as {{'bounds': (0, 10)}} or {{'levels': [0, 1]}}, not {what!r}"
                )
            lines = ["[[variable]]", f"name = {json.dumps(str(name), ensure_ascii=False)}"]
            for key, value in what.items():
                if value is not None:
                    written = list(value) if isinstance(value, (tuple, set)) else value
                    lines.append(f"{key} = {json.dumps(written, ensure_ascii=False, allow_nan=False)}")
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"
    if isinstance(variables, str) and "\n" in variables:
        return variables
    return read_bytes(variables).decode(errors="replace")
