"""Studies on Ray, on one machine or a cluster: :func:`run`. Needs the package ``ray``."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any

import pandas as pd

from . import _seabed
from ._files import read_bytes
from ._progress import Progress, checked_threads, shown
from .errors import StudyError
from .study import Study, _is_loss, _Watch, run_one

__all__ = ["run"]

_PATIENCE = 0.5


def run(
    study: Study,
    *,
    num_cpus: float = 1,
    threads: int | None = None,
    retries: int = 3,
    shared_folder: bool = True,
    progress: Progress = None,
    **options: Any,
) -> pd.DataFrame:
    """Makes all runs of a study that are not finished as tasks of Ray, and writes the results.

    Runs on workers that are lost are started again elsewhere: with a shared folder from the last finished round on. The results
    are those of :meth:`Study.run`.

    Parameters
    ----------
    study : Study
        What to run.
    num_cpus : float
        Processors that Ray reserves for a run.
    threads : int, optional
        Of each run: ``num_cpus`` by default, at least 1.
    retries : int
        How often a run is started again because its worker was lost.
    shared_folder : bool
        Do all nodes see the folder of the study under the same name? If not, runs are made in a temporary folder on their node, and
        their files are sent back when they are finished.
    progress : bool or callable, optional
        ``True`` for a bar by tqdm, or a function of (done, all, what).
    **options
        Further options of ``ray.remote``, for example ``resources`` or ``runtime_env``.

    Returns
    -------
    DataFrame
        :attr:`Study.results`.

    Raises
    ------
    StudyError
        If runs failed, or workers were lost too often; what is finished stays finished.

    Notes
    -----
    Ray is initialised with its defaults if that was not done: ``ray.init(address="auto")`` before joins a cluster.

    Examples
    --------
    >>> import ray, seabed  # doctest: +SKIP
    >>> ray.init(num_cpus=2)  # doctest: +SKIP
    >>> seabed.ray.run(seabed.Study("study.toml", "study"), progress=True)  # doctest: +SKIP
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("studies on Ray need it: pip install 'seabed-cbed[ray]'") from error

    todo = study._todo()
    each = checked_threads(threads) or max(1, int(num_cpus))
    folder = os.path.abspath(study.folder)
    with shown(progress) as tell:
        watch = _Watch(len(study), len(study) - len(todo), tell)
        if todo and not ray.is_initialized():
            ray.init()
        work: Any = ray.remote(num_cpus=num_cpus, max_retries=retries, **options)(run_one if shared_folder else _run_alone)
        config = None if shared_folder else ray.put((Path(folder) / "sweep.toml").read_text())
        waiting = [work.remote(folder if shared_folder else config, index, each) for index in todo]
        try:
            while waiting:
                # In short steps, so that Ctrl-C is seen.
                done, waiting = ray.wait(waiting, num_returns=1, timeout=_PATIENCE)
                for reference in done:
                    ended: Any = ray.get(reference)
                    if not shared_folder:
                        index, outcome, why, files = ended
                        if outcome == "finished":
                            _take_in(Path(folder) / "runs" / f"{index:04}", files)
                        ended = index, outcome, why
                    watch.ended(*ended)
        except BaseException as error:
            for reference in waiting:
                ray.cancel(reference, force=True)
            if _is_loss(error):
                said = f"the worker of a run was lost more than {retries} times; what is finished is kept: call run() again"
                raise StudyError(said) from error
            raise
    return study._finish(watch)


def _run_alone(config: str, index: int, threads: int) -> tuple[int, str, str | None, dict[str, bytes]]:
    """One run in a temporary folder, with its files."""
    with tempfile.TemporaryDirectory() as place:
        _seabed.study_create(place, config, "sweep.toml")
        index, outcome, error = run_one(place, index, threads)
        home = Path(place) / "runs" / f"{index:04}"
        files = [path for path in home.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return index, outcome, error, {path.relative_to(home).as_posix(): read_bytes(path) for path in files}


def _take_in(home: Path, files: dict[str, bytes]) -> None:
    """Puts the files of a finished run in place, all at once."""
    part = home.with_name(f".{home.name}-{uuid.uuid4().hex}.part")
    for name, content in files.items():
        place = part / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    shutil.rmtree(home, ignore_errors=True)
    os.replace(part, home)
