"""Studies of many closed loops against simulated worlds, on any executor: :class:`Study`."""

from __future__ import annotations

import concurrent.futures as futures
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import _seabed
from ._files import read_bytes, write_atomically
from ._frames import frame_of
from ._progress import Progress, checked_threads, shown
from .errors import SeabedWarning, SettingsError, Stopped, StudyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Study"]


class Study:
    """Many independent closed loops in one folder, paired by seed: the same files as of ``seabed sweep``.

    Parameters
    ----------
    config : dict, path, or TOML text; optional
        What varies is a list: ``{"seeds": 10, "world": {"nodes": 10}, "design": {"strategy": ["random", "greedy-cbed"]}}``; every key
        has a default, see :meth:`defaults`. None opens the study of an existing folder.
    folder : path, optional
        Where the runs are; made if it does not exist. A study of the same settings that is there goes on; it may have got
        more seeds or rounds. By default the path of the configuration without .toml.

    Examples
    --------
    >>> import seabed
    >>> study = seabed.Study(
    ...     {
    ...         "seeds": 2,
    ...         "rounds": 1,
    ...         "world": {"nodes": 4, "mechanism": "linear", "observations": 20},
    ...         "posterior": {"kind": "bootstrap", "draws": 5},
    ...         "design": {"strategy": ["random", "greedy-cbed"], "batch": 2},
    ...     },
    ...     "study",
    ... )
    >>> len(study)
    4
    >>> study.run()["eshd"].notna().all()
    np.True_
    """

    def __init__(
        self,
        config: Mapping[str, Any] | str | os.PathLike[str] | None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        text, source = ("", "") if config is None else _config(config)
        if folder is None:
            if source in ("", "the study"):
                raise SettingsError("name the folder of the study: Study(config, folder)")
            folder = Path(source).with_suffix("")
        self._folder = Path(folder)
        if config is not None:
            _seabed.study_create(os.fspath(self._folder), text, source)
        self._count = len(json.loads(_seabed.study_runs(os.fspath(self._folder))))

    @classmethod
    def preset(cls, name: str, folder: str | os.PathLike[str], *, networks: str | os.PathLike[str] | None = None) -> Study:
        """One of the paper's studies.

        Parameters
        ----------
        name : str
            For example ``"paper-linear-20"``; :meth:`presets` lists them.
        folder : path
            As for :class:`Study`.
        networks : path, optional
            A folder with the DREAM3 networks, for the presets on gene networks.
        """
        text = _seabed.study_preset(name, None if networks is None else os.fspath(networks))
        if text is None:
            raise SettingsError(f"there is no preset {name!r}; they are {', '.join(cls.presets())}")
        return cls(text + "\n", folder)

    @staticmethod
    def presets() -> dict[str, str]:
        """The presets, with what they are."""
        return dict(_seabed.study_presets())

    @staticmethod
    def defaults() -> str:
        """The default configuration with the meaning of each key, as TOML."""
        return _seabed.study_defaults()

    @property
    def folder(self) -> Path:
        """Where the runs are."""
        return self._folder

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: index, setting, line, seed, state (waiting, started, failed, finished), rounds done, of, error."""
        return frame_of(json.loads(_seabed.study_runs(os.fspath(self._folder))))

    @property
    def results(self) -> pd.DataFrame:
        """One row per finished run and round: what ``results.csv`` holds.

        Raises
        ------
        StudyError
            If no run has finished.
        """
        place = self._folder / "results.csv"
        if not place.exists():
            raise StudyError("no run of the study has finished; call run()")
        return pd.read_csv(place)

    def run(
        self,
        executor: Any = None,
        *,
        jobs: int | None = None,
        threads: int | None = None,
        retries: int = 3,
        progress: Progress = None,
    ) -> pd.DataFrame:
        """Makes all runs that are not finished, and writes the results.

        What is finished is never done again: after an interruption, the same call goes on. Workers must see the folder under
        the same name. Results are the same bytes whatever the executor, if the configuration has ``timing = false``.

        Parameters
        ----------
        executor : optional
            A :class:`concurrent.futures.Executor`, a :class:`joblib.Parallel` (which tells progress as runs end only with
            ``return_as="generator_unordered"``), or a Dask client. For Ray see :func:`seabed.ray.run`. By default threads of
            this process.
        jobs : int, optional
            Runs at a time of the default executor; one per processor by default.
        threads : int, optional
            Of each run: 1 by default.
        retries : int
            How often runs are started again because a worker was lost.
        progress : bool or callable, optional
            ``True`` for a bar by tqdm, or a function of (done, all, what).

        Returns
        -------
        DataFrame
            :attr:`results`.

        Raises
        ------
        StudyError
            If runs failed, or workers were lost too often; the results cover the finished runs.
        """
        todo = self._todo()
        each = checked_threads(threads) or 1
        with shown(progress) as tell:
            watch = _Watch(self._count, self._count - len(todo), tell)
            if not todo:
                pass
            elif executor is None:
                self._here(todo, checked_threads(jobs), each, watch)
            elif isinstance(executor, futures.Executor):
                self._on_executor(executor, todo, each, retries, watch)
            elif hasattr(executor, "get_executor"):
                # Dask: its executor has futures of the standard library, and retries lost runs itself.
                client = executor.get_executor(pure=False, retries=retries)
                self._on_executor(client, todo, each, retries, watch)
            elif type(executor).__module__.split(".")[0] == "joblib":
                self._on_joblib(executor, todo, each, retries, watch)
            else:
                raise SettingsError(
                    f"executor: a {type(executor).__name__} is none; give a concurrent.futures.Executor, a "
                    "joblib.Parallel or a Dask client; for Ray, call seabed.ray.run(study)"
                )
        return self._finish(watch)

    def plot(self, metric: str = "eshd", *, setting: str | None = None, ax: Axes | None = None) -> Axes:
        """Draws a metric against the number of experiments by matplotlib: mean and standard error over seeds.

        Parameters
        ----------
        metric : str
            A column of :attr:`results`: eshd, esid, auroc, auprc, ef1, brier, ….
        setting : str, optional
            World and posterior, if the study has several; by default the first.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from .plots import plot_study

        return plot_study(self, metric, setting, ax)

    def svg(self, *, baseline: str | None = None) -> dict[str, str]:
        """The report's figures as SVG documents, by their names; matplotlib is not needed.

        Parameters
        ----------
        baseline : str, optional
            The line to compare the others with; by default the random one.
        """
        return dict(_seabed.study_report(os.fspath(self._folder), self._folder.name, baseline)[1])

    def report(self, path: str | os.PathLike[str] | None = None, *, baseline: str | None = None) -> str:
        """The report: one self-contained HTML page with comparisons paired by seed.

        Parameters
        ----------
        path : path, optional
            Where to write it, too.
        baseline : str, optional
            The line to compare the others with; by default the random one.

        Returns
        -------
        str
            The page.
        """
        page = _seabed.study_report(os.fspath(self._folder), self._folder.name, baseline)[0]
        if path is not None:
            write_atomically(path, page.encode())
        return page

    def summary(self, *, baseline: str | None = None) -> str:
        """How many experiments the lines save, as sentences."""
        return _seabed.study_report(os.fspath(self._folder), self._folder.name, baseline)[2]

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        states = self.runs["state"].value_counts()
        said = ", ".join(f"{int(count)} {state}" for state, count in states.items())
        return f"Study {self._folder}: {self._count} runs ({said})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Study, (None, self._folder)

    # Parts

    def _todo(self) -> list[int]:
        return [int(run["index"]) for run in json.loads(_seabed.study_runs(os.fspath(self._folder))) if run["state"] != "finished"]

    def _finish(self, watch: _Watch) -> pd.DataFrame:
        _seabed.study_write_results(os.fspath(self._folder))
        if watch.failed:
            index, error = watch.failed[0]
            raise StudyError(
                f"{len(watch.failed)} of {self._count} runs failed, run {index} because: {error}; the results cover the "
                "others, and the same call tries the failed ones again"
            )
        if watch.elsewhere:
            are = "is" if watch.elsewhere == 1 else "are"
            said = (
                f"{watch.elsewhere} of {self._count} runs {are} being made by another process; the results cover the others: call "
                "run() again when it has ended"
            )
            warnings.warn(said, SeabedWarning, stacklevel=3)
        return self.results

    def _here(self, todo: list[int], jobs: int | None, threads: int, watch: _Watch) -> None:
        jobs = min(jobs or os.cpu_count() or 1, len(todo))
        stop = threading.Event()

        def halted(_done: int, _all: int, _what: str) -> None:
            if stop.is_set():
                raise Stopped("stopped before it finished")

        with futures.ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(run_one, os.fspath(self._folder), index, threads, halted) for index in todo]
            try:
                for future in _as_completed(waiting):
                    watch.ended(*future.result())
            except BaseException:
                stop.set()
                for future in waiting:
                    future.cancel()
                raise

    def _on_executor(
        self, executor: futures.Executor, todo: list[int], threads: int, retries: int, watch: _Watch
    ) -> None:
        own: futures.ProcessPoolExecutor | None = None
        losses = 0
        try:
            while todo:
                lost: list[int] = []
                pool = own or executor
                waiting: dict[futures.Future[tuple[int, str, str | None]], int] = {}
                try:
                    for index in todo:
                        waiting[pool.submit(run_one, os.fspath(self._folder), index, threads)] = index
                except futures.BrokenExecutor:
                    lost = [index for index in todo if index not in waiting.values()]
                try:
                    for future in _as_completed(list(waiting)):
                        error = future.exception()
                        if error is None:
                            watch.ended(*future.result())
                        elif isinstance(error, futures.BrokenExecutor) or _is_loss(error):
                            lost.append(waiting[future])
                        else:
                            raise error
                except BaseException:
                    for future in waiting:
                        future.cancel()
                    raise
                todo = sorted(lost)
                if todo:
                    losses += 1
                    if losses > retries:
                        raise StudyError(f"workers were lost {losses} times; what is finished is kept: call run() again")
                    if own is not None or isinstance(executor, futures.ProcessPoolExecutor):
                        # A pool of processes that has lost one takes no more work: go on with one like it.
                        if own is not None:
                            own.shutdown(wait=False)
                        own = _another(executor)
        finally:
            if own is not None:
                own.shutdown()

    def _on_joblib(self, parallel: Any, todo: list[int], threads: int, retries: int, watch: _Watch) -> None:
        from joblib import delayed

        call = delayed(run_one)
        losses = 0
        while todo:
            try:
                for outcome in parallel(call(os.fspath(self._folder), index, threads) for index in todo):
                    watch.ended(*outcome)
                return
            except Exception as error:
                if not _is_loss(error):
                    raise
                losses += 1
                if losses > retries:
                    raise StudyError(
                        f"workers were lost {losses} times; what is finished is kept: call run() again"
                    ) from error
                done = set(todo) - set(self._todo())
                for index in sorted(done):
                    watch.ended(index, "finished", None)
                todo = [index for index in todo if index not in done]


class _Watch:
    """Counts runs that ended."""

    def __init__(self, all_: int, done: int, tell: Callable[[int, int, str], object] | None) -> None:
        self.all, self.done, self.tell = all_, done, tell
        self.failed: list[tuple[int, str]] = []
        self.elsewhere = 0

    def ended(self, index: int, outcome: str, error: str | None) -> None:
        if outcome == "elsewhere":
            self.elsewhere += 1
        else:
            self.done += 1
        if outcome == "failed":
            self.failed.append((index, error or "no reason given"))
        if self.tell is not None:
            self.tell(self.done, self.all, f"runs; run {index:04} {outcome}")


def run_one(
    folder: str, index: int, threads: int | None = None, progress: Callable[[int, int, str], object] | None = None
) -> tuple[int, str, str | None]:
    """One run, in this process: its number, how it ended, and why if it failed. What workers are given to do."""
    try:
        return index, _seabed.study_run_one(folder, index, threads, progress), None
    except (Stopped, KeyboardInterrupt):
        raise
    except Exception as error:
        return index, "failed", str(error)


def _as_completed(waiting: Iterable[futures.Future[Any]]) -> Iterable[futures.Future[Any]]:
    """As of the standard library; but waits in short steps, so that Ctrl-C is seen at once on every system."""
    left = set(waiting)
    while left:
        done, left = futures.wait(left, timeout=0.2, return_when=futures.FIRST_COMPLETED)
        yield from done


def _is_loss(error: BaseException) -> bool:
    """Was a worker lost, rather than the run itself wrong?"""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenExecutor", "TerminatedWorkerError", "KilledWorker", "WorkerCrashedError"})


def _another(executor: futures.Executor) -> futures.ProcessPoolExecutor:
    workers = getattr(executor, "_max_workers", None)
    context = getattr(executor, "_mp_context", None)
    return futures.ProcessPoolExecutor(workers, mp_context=context)


def _config(config: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a configuration, and what messages call it; no name for JSON."""
    if isinstance(config, Mapping):
        try:
            return json.dumps(_dashed(config), allow_nan=False), ""
        except (TypeError, ValueError) as error:
            raise SettingsError(f"the study: {error}") from error
    if isinstance(config, str) and ("\n" in config or "=" in config):
        return config, "the study"
    return read_bytes(config).decode(errors="replace"), os.fspath(config)


def _dashed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key).replace("_", "-"): _dashed(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_dashed(inner) for inner in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value
