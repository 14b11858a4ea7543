"""Real Ray with two worker processes: the same bytes, and a worker killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seabed

from .test_study import expected, files, long, small, started  # noqa: F401

ray = pytest.importorskip("ray", reason="ray is not installed, so nothing is tested on it")


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def workers_at_work() -> list[int]:
    """The processes of Ray on this machine that are busy with a run."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                title = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if title.startswith("ray::run_one") or title.startswith("ray::_run_alone"):
                found.append(int(place.name))
    return found


@pytest.mark.parametrize("shared", [True, False])
def test_the_same_bytes(shared: bool, expected: Any) -> None:  # noqa: F811
    told: list[int] = []
    study = seabed.Study(small(), "study")
    results = seabed.ray.run(study, shared_folder=shared, progress=lambda done, *_: told.append(done))
    assert files("study") == expected["small"] and told == [1, 2, 3, 4] and len(results) == 8
    assert seabed.ray.run(study).equals(results)


def kill_one_at_work(study: seabed.Study, shared: bool, killed: list[int]) -> threading.Thread:
    def kill() -> None:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            busy = workers_at_work()
            if busy and (started(study) or not shared):
                time.sleep(0.3)
                busy = workers_at_work()
                if busy:
                    os.kill(busy[0], signal.SIGKILL)
                    killed.append(busy[0])
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize("shared", [True, False])
def test_a_worker_killed_in_the_middle_loses_nothing(shared: bool, expected: Any) -> None:  # noqa: F811
    study = seabed.Study(long(), "study")
    killed: list[int] = []
    thread = kill_one_at_work(study, shared, killed)
    results = seabed.ray.run(study, shared_folder=shared)
    thread.join()
    assert len(killed) == 1
    assert files("study") == expected["long"]
    assert not results.duplicated(["run", "round"]).any() and len(results) == 6 * 5


def test_too_many_losses_are_an_error_of_the_study() -> None:
    study = seabed.Study(long(), "study")
    killed: list[int] = []
    thread = kill_one_at_work(study, True, killed)
    with pytest.raises(seabed.StudyError, match="lost more than 0 times"):
        seabed.ray.run(study, retries=0)
    thread.join()
    assert len(killed) == 1


def test_an_interrupted_study_goes_on(expected: Any) -> None:  # noqa: F811
    class Enough(Exception):
        pass

    def callback(done: int, _all: int, _what: str) -> None:
        if done == 2:
            raise Enough

    study = seabed.Study(long(), "study")
    with pytest.raises(Enough):
        seabed.ray.run(study, progress=callback)
    # Processes that were told to stop may still hold a run for a moment.
    deadline = time.monotonic() + 60
    while workers_at_work() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (study.runs["state"] == "finished").sum() < 6
    seabed.ray.run(study)
    assert files("study") == expected["long"]
