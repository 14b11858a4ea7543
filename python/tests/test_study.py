"""Studies on executors: the same bytes everywhere, nothing lost, nothing done twice."""

from __future__ import annotations

import concurrent.futures as futures
import multiprocessing
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import seabed
from seabed.study import _Watch, run_one


def small(**changes: Any) -> dict[str, Any]:
    config = {
        "seeds": 2,
        "rounds": 1,
        "timing": False,
        "world": {"nodes": 4, "mechanism": "linear", "observations": 20},
        "posterior": {"kind": "bootstrap", "draws": 5},
        "design": {"strategy": ["random", "greedy-cbed"], "batch": 2},
    }
    return {**config, **changes}


def long() -> dict[str, Any]:
    """Six runs of about a second each, of four rounds."""
    world = {"nodes": 8, "mechanism": "linear", "observations": 60}
    return small(seeds=3, rounds=4, world=world, posterior={"kind": "bootstrap", "draws": 120})


def files(folder: str | Path) -> dict[str, bytes]:
    """All files but those that say who is at work, which a killed process leaves behind."""
    found = [path for path in Path(folder).rglob("*") if path.is_file() and path.parent.name != "workers"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def started(study: seabed.Study) -> bool:
    states = study.runs
    return bool((states["rounds"] > 0).any())


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    place = tmp_path_factory.mktemp("expected")
    for name, config in (("small", small()), ("long", long())):
        seabed.Study(config, place / name).run(jobs=2)
    return {name: files(place / name) for name in ("small", "long")}


def test_a_study_lists_its_runs(expected: Any) -> None:
    study = seabed.Study(small(), "study")
    assert len(study) == 4 and set(study.runs["state"]) == {"waiting"} and "4 waiting" in repr(study)
    with pytest.raises(seabed.StudyError, match="run"):
        study.results  # noqa: B018
    told: list[tuple[int, int, str]] = []
    results = study.run(progress=lambda *said: told.append(said))
    assert [done for done, *_ in told] == [1, 2, 3, 4] and len(results) == 8
    assert set(results["line"]) == {"random", "greedy-cbed"}
    assert files("study") == expected["small"]
    assert study.run().equals(results) and pickle.loads(pickle.dumps(study)).results.equals(results)
    grown = seabed.Study(small(seeds=3), "study")
    assert len(grown) == 6 and (grown.runs["state"] == "finished").sum() == 4
    assert "paper-linear-20" in seabed.Study.presets() and "rounds" in seabed.Study.defaults()


def test_threads_and_processes(expected: Any) -> None:
    with futures.ThreadPoolExecutor(2) as pool:
        seabed.Study(small(), "threads").run(pool)
    assert files("threads") == expected["small"]
    for method in ("fork", "spawn"):
        with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as processes:
            seabed.Study(small(), method).run(processes)
        assert files(method) == expected["small"]


def test_joblib(expected: Any) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed, so nothing is tested with it")
    told: list[int] = []
    parallel = joblib.Parallel(n_jobs=2, return_as="generator_unordered")
    seabed.Study(small(), "joblib").run(parallel, progress=lambda done, *_: told.append(done))
    assert files("joblib") == expected["small"] and told == [1, 2, 3, 4]
    seabed.Study(small(), "at once").run(joblib.Parallel(n_jobs=2))
    assert files("at once") == expected["small"]


def test_dask(expected: Any) -> None:
    pytest.importorskip("distributed", reason="dask is not installed, so nothing is tested with it")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        seabed.Study(small(), "dask").run(client)
    assert files("dask") == expected["small"]


def kill_one_when_started(study: seabed.Study, pids: Any) -> threading.Thread:
    def kill() -> None:
        deadline = time.monotonic() + 60
        while not started(study) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(pids()[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_killed_worker_of_a_pool_loses_nothing(expected: Any) -> None:
    study = seabed.Study(long(), "killed")
    with futures.ProcessPoolExecutor(2) as pool:
        thread = kill_one_when_started(study, lambda: list(pool._processes))
        results = study.run(pool)
        thread.join()
    assert files("killed") == expected["long"]
    assert not results.duplicated(["run", "round"]).any() and len(results) == 6 * 5


def test_too_many_losses_are_an_error() -> None:
    study = seabed.Study(long(), "lost")
    with futures.ProcessPoolExecutor(2) as pool:
        thread = kill_one_when_started(study, lambda: list(pool._processes))
        with pytest.raises(seabed.StudyError, match="lost 1 times"):
            study.run(pool, retries=0)
        thread.join()


def test_an_interrupted_study_goes_on(expected: Any) -> None:
    class Enough(Exception):
        pass

    def callback(done: int, _all: int, _what: str) -> None:
        if done == 2:
            raise Enough

    study = seabed.Study(long(), "stopped")
    with pytest.raises(Enough):
        study.run(jobs=2, progress=callback)
    assert 2 <= (study.runs["state"] == "finished").sum() < 6
    study.run(jobs=2)
    assert files("stopped") == expected["long"]


def test_runs_of_another_process_are_told() -> None:
    seabed.Study(small(), "shared").run()

    def watch_of(*outcomes: str) -> _Watch:
        watch = _Watch(4, 0, None)
        for index, outcome in enumerate(outcomes):
            watch.ended(index, outcome, None)
        return watch

    with pytest.warns(UserWarning, match="1 of 4 runs is being made by another process"):
        seabed.Study(None, "shared")._finish(watch_of("finished", "elsewhere", "finished", "finished"))
    assert watch_of("finished", "elsewhere").done == 1


def test_failed_runs_are_told_and_the_others_are_kept() -> None:
    config = small(world={"kind": "scm", "file": "model.json", "observations": 20})
    seabed.worlds.er(nodes=4, mechanism="linear", seed=1).save("model.json")
    study = seabed.Study(config, "failing")
    Path("model.json").rename("hidden.json")
    with pytest.raises(seabed.StudyError, match="4 of 4 runs failed.*model.json"):
        study.run()
    Path("hidden.json").rename("model.json")
    assert len(study.run()) == 8
    assert run_one("failing", 0) == (0, "finished", None)
