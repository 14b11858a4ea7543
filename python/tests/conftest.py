"""What all tests share: an empty working folder, a small world, and the command ``seabed``."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import seabed


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def world() -> seabed.World:
    return seabed.worlds.er(nodes=4, mechanism="linear", noise_sd=0.5, seed=3)


@pytest.fixture
def data(world: seabed.World) -> seabed.Dataset:
    return world.sample(60).append(world.sample(5, {"X2": 1.0}))


@pytest.fixture
def fit(data: seabed.Dataset) -> seabed.Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return seabed.fit(data, "mcmc-linear", draws=50, sweeps=400)


@pytest.fixture
def cli() -> Callable[..., str]:
    """Runs the command that SEABED_CLI names and returns what it prints."""
    command = os.environ.get("SEABED_CLI")
    if command is None:
        pytest.skip("SEABED_CLI does not name the command seabed, so the two are not compared")

    def run(*arguments: object) -> str:
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
