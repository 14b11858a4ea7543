"""Good manners: the interpreter is free, Ctrl-C works, progress is told, processes may be forked and spawned."""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import seabed

LONG: dict[str, Any] = {"posterior": "mcmc-gp", "draws": 2000, "sweeps": 1_000_000, "chains": 8}


def big() -> seabed.Dataset:
    return seabed.worlds.er(nodes=12, seed=1).sample(300)


class Enough(Exception):
    """Raised by a callback."""


def test_other_threads_run_during_a_fit() -> None:
    data = big()
    ticks = 0
    running = threading.Event()

    stop = threading.Event()
    began = 0.0

    def callback(_done: int, _all: int, _what: str) -> None:
        nonlocal began
        began = began or time.monotonic()
        running.set()
        if time.monotonic() > began + 2:
            raise Enough

    def count() -> None:
        nonlocal ticks
        running.wait()
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(Enough):
        seabed.fit(data, progress=callback, **LONG)
    lasted = time.monotonic() - began
    stop.set()
    thread.join()
    # While the callback is served, at most 20 times a second, others may run in any case.
    assert ticks > 100 * lasted, f"{ticks} ticks in {lasted:.1f} s"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted only where /proc lists them")
def test_the_number_of_threads_is_that_of_the_call() -> None:
    data = big()

    def during(threads: int) -> int:
        seen: list[int] = []

        def callback(*_: object) -> None:
            seen.append(len(os.listdir("/proc/self/task")))
            # By now the threads of an earlier call have ended.
            if len(seen) == 5:
                raise Enough

        with pytest.raises(Enough):
            seabed.fit(data, progress=callback, threads=threads, **LONG)
        return seen[-1]

    assert during(5) - during(2) == 3


def test_a_callback_hears_progress_and_may_stop_the_work() -> None:
    heard: list[tuple[int, int, str]] = []

    def callback(done: int, all_: int, what: str) -> None:
        heard.append((done, all_, what))
        assert threading.current_thread() is threading.main_thread()
        if len(heard) == 3:
            raise Enough

    with pytest.raises(Enough):
        seabed.fit(big(), progress=callback, **LONG)
    assert len(heard) == 3 and all(0 <= done <= all_ and what for done, all_, what in heard)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tqdm_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="tqdm is not installed, so nothing is tested with it")
    seabed.fit(seabed.worlds.er(nodes=8, seed=1).sample(200), "mcmc-gp", draws=50, sweeps=400, chains=4, progress=True)
    shown = capsys.readouterr().err
    assert "%|" in shown and "/" in shown


# Says how much the processor did between the interrupt and its end: on one thread and an idle machine, that is the time;
# and the time.
INTERRUPTED = """
import os, signal, sys, threading, time
import seabed

what = sys.argv[1]
data = seabed.worlds.er(nodes=12, seed=1).sample(int(sys.argv[2]))
sent = None

def interrupt():
    global sent
    time.sleep(float(sys.argv[3]))
    sent = time.process_time(), time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

fit = seabed.fit(data, "mcmc-linear", draws=200) if what in ("design", "predict") else None
lab = seabed.Campaign.new("cells.lab", data=data) if what == "propose" else None
genes = seabed.worlds.genes(50, seed=1) if what == "sample" else None
threading.Thread(target=interrupt, daemon=True).start()
try:
    if what == "design":
        seabed.design(fit, 10, samples=5000, max_targets=3, evaluations=100)
    elif what == "predict":
        fit.ensemble.predict({"X1": 1.0}, n=100_000, threads=1)
    elif what == "sample":
        genes.sample(500_000, threads=1)
    elif what == "propose":
        lab.propose(4, posterior="mcmc-gp", posterior_options=eval(sys.argv[4]))
    elif what == "study":
        seabed.Study({"seeds": 4, "world": {"nodes": 30}, "posterior": {"steps": 100000}}, "study").run(jobs=1)
    else:
        seabed.fit(data, what, **eval(sys.argv[4]))
    print("finished")
except KeyboardInterrupt:
    print(time.process_time() - sent[0], time.monotonic() - sent[1])
"""


@pytest.mark.parametrize(
    ("what", "rows", "after", "options"),
    [
        ("mcmc-gp", 300, 1.0, {"draws": 2000, "sweeps": 1_000_000}),
        ("mcmc-gp", 300, 0.2, {"draws": 2000, "sweeps": 1_000_000}),
        ("mcmc-linear", 1000, 0.5, {"draws": 100_000, "sweeps": 1_000_000}),
        ("bootstrap", 2000, 0.5, {"draws": 100_000}),
        ("dibs-nonlinear", 1000, 0.5, {"steps": 100_000, "all_steps": True}),
        ("design", 300, 0.5, {}),
        ("predict", 300, 0.2, {}),
        ("sample", 10, 0.5, {}),
        ("propose", 300, 1.0, {"draws": 2000, "chains": 8}),
        ("study", 10, 1.0, {}),
    ],
)
def test_control_c_stops_within_a_second(what: str, rows: int, after: float, options: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, what, str(rows), str(after), repr(options)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
    )
    assert done.stdout and done.stdout.strip() != "finished", done.stdout + done.stderr
    seconds, waited = map(float, done.stdout.split()[-2:])
    print(f"{what}: stopped after {seconds:.2f} s")
    assert seconds < 1.0, f"{what} took {seconds:.2f} s to stop"
    # Others use the machine, too; but nobody waits for something that does not come.
    assert waited < 10.0, f"{what} took {waited:.2f} s to stop, most of them idle"


def test_an_interrupted_ask_goes_on(world: seabed.World) -> None:
    def callback(done: int, _all: int, what: str) -> None:
        if stop and done > 0:
            raise Enough

    exp = seabed.Experiment(world.names, posterior="mcmc-linear", posterior_options={"draws": 3000, "sweeps": 20000}, progress=callback, seed=2)
    exp.tell(world.sample(40))
    stop = True
    with pytest.raises(Enough):
        exp.ask(2)
    assert exp.pending == []
    stop = False
    plain = seabed.Experiment(world.names, posterior="mcmc-linear", posterior_options={"draws": 3000, "sweeps": 20000}, seed=2)
    plain.tell(world.sample(40))
    assert exp.ask(2) == plain.ask(2)


def test_many_threads_at_once_give_what_one_gives(data: seabed.Dataset) -> None:
    def work(seed: int) -> str:
        fit = seabed.fit(data, "mcmc-linear", draws=20, seed=seed, threads=2)
        return fit.to_json() + seabed.design(fit, 2, samples=20, seed=seed).to_json()

    alone = [work(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == alone


def child(seed: int) -> str:
    world = seabed.worlds.er(nodes=4, mechanism="linear", seed=3)
    fit = seabed.fit(world.sample(50), "mcmc-linear", draws=20, seed=seed, threads=2)
    return fit.to_json() + seabed.design(fit, 2, samples=20, seed=seed).to_json()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_may_be_forked_and_spawned(method: str) -> None:
    # Before the fork all threads of the library have been used once.
    alone = [child(seed) for seed in range(3)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(child, range(3)).get(timeout=120) == alone


def test_a_fork_during_a_fit_in_another_thread_works() -> None:
    started = threading.Event()
    stop = threading.Event()

    def callback(*_: object) -> None:
        started.set()
        if stop.is_set():
            raise Enough

    def long() -> None:
        with pytest.raises(Enough):
            seabed.fit(big(), progress=callback, **LONG)

    thread = threading.Thread(target=long)
    thread.start()
    started.wait(60)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, child(1)[:20].encode())
        os._exit(0)
    deadline = time.monotonic() + 60
    status = None
    while status is None and time.monotonic() < deadline:
        ended, code = os.waitpid(pid, os.WNOHANG)
        status = code if ended else None
        time.sleep(0.05)
    stop.set()
    thread.join()
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert status == 0 and os.read(reader, 20) == child(1)[:20].encode()


def test_it_is_typed_and_has_the_version_of_its_wheel() -> None:
    assert importlib.metadata.version("seabed-cbed") == seabed.__version__
    folder = Path(seabed.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_seabed.pyi").exists()


def test_importing_needs_no_optional_package() -> None:
    heavy = "matplotlib ray sklearn networkx tqdm joblib dask distributed polars pyarrow".split()
    code = (
        "import sys\n"
        f"for name in {heavy!r}: sys.modules[name] = None\n"
        "import seabed\n"
        "world = seabed.worlds.er(nodes=3, mechanism='linear')\n"
        "fit = seabed.fit(world.sample(30), 'mcmc-linear', draws=20)\n"
        "batch = seabed.design(fit, 2, samples=20)\n"
        "assert fit._repr_html_() and batch._repr_html_() and batch.svg()\n"
        "for use in (lambda: fit.plot(), lambda: seabed.PosteriorGraphs, lambda: fit.to_networkx(),\n"
        "            lambda: seabed.ray.run(None), lambda: seabed.fit(world.sample(9), 'bootstrap', progress=True)):\n"
        "    try: use()\n"
        "    except (ImportError, AttributeError): pass\n"
        "    else: raise SystemExit('an optional package was not missed')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
