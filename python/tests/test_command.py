"""The package and the command give the same bytes on the same seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seabed

Cli = Callable[..., str]


def without_times(text: str) -> dict[str, Any]:
    return {key: value for key, value in json.loads(text).items() if key not in ("seconds", "cpu_seconds")}


def same(ours: str, theirs: str) -> None:
    # Both texts hold the shortest digits of every number, so equal texts are equal bits.
    assert json.dumps(without_times(ours), sort_keys=True) == json.dumps(without_times(theirs), sort_keys=True)


@pytest.fixture
def data_csv(data: seabed.Dataset) -> str:
    data.write("data.csv")
    return "data.csv"


@pytest.mark.parametrize(
    ("posterior", "options", "arguments"),
    [
        ("mcmc-linear", {"draws": 30, "chains": 3}, ["--draws", 30, "--chains", 3]),
        ("mcmc-gp", {"draws": 10, "chains": 2, "sweeps": 200}, ["--draws", 10, "--chains", 2, "--sweeps", 200]),
        ("bootstrap", {"draws": 7, "penalty": 2.0}, ["--draws", 7, "--penalty", 2]),
        ("dibs-linear", {"particles": 4, "steps": 50}, ["--particles", 4, "--steps", 50]),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fit_and_design(posterior: str, options: Any, arguments: list[Any], cli: Cli, data_csv: str) -> None:
    printed = cli("fit", data_csv, "--posterior", posterior, "--seed", 11, "--out", "theirs.npz", "--json", *arguments)
    fit = seabed.fit(seabed.Dataset.read(data_csv), posterior, seed=11, **options)
    same(fit.to_json(), printed)
    fit.save("ours.npz")
    assert Path("ours.npz").read_bytes() == Path("theirs.npz").read_bytes()
    fit.save("ours.json")
    cli("fit", data_csv, "--posterior", posterior, "--seed", 11, "--out", "theirs.json", *arguments)
    assert Path("ours.json").read_bytes() == Path("theirs.json").read_bytes()

    # A belief in a file has no data whose traps could be told, but remembers their range.
    fit = seabed.Fit.load("theirs.npz")
    printed = cli("design", "theirs.npz", "--batch", 3, "--seed", 4, "--samples", 30, "--json")
    same(seabed.design(fit, 3, seed=4, samples=30).to_json(), printed)
    printed = cli("design", "theirs.npz", "--batch", 3, "--seed", 4, "--samples", 30, "--range", "-2:2", "--json")
    same(seabed.design(fit, 3, seed=4, samples=30, value_range=(-2, 2)).to_json(), printed)


def test_design_from_data_and_scores(cli: Cli, data_csv: str) -> None:
    fit = seabed.fit(seabed.Dataset.read(data_csv), "mcmc-linear", draws=30, seed=9)
    shared = ["design", data_csv, "--posterior", "mcmc-linear", "--draws", 30, "--seed", 9, "--samples", 30, "--json"]
    printed = cli(*shared, "--batch", 4, "--forbid", "X1", "--levels", "X2=0,1", "--cost", "X3=2", "--max-targets", 2)
    batch = seabed.design(
        fit, 4, seed=9, samples=30, forbidden=["X1"], levels={"X2": [0, 1]}, cost={"X3": 2}, max_targets=2
    )
    same(batch.to_json(), printed)
    scored = json.loads(cli(*shared, "--score", "X1=1", "--score", "X1=1,X2=0"))["designs"]
    found = seabed.score(fit, [{"X1": 1}, {"X1": 1, "X2": 0}], seed=9, samples=30)
    assert [one["information"] for one in scored] == found["information"].tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_warnings_are_those_of_the_command(cli: Cli, world: seabed.World) -> None:
    frame = world.sample(300).to_pandas()
    frame["X3"] = frame["X1"] ** 2 + 0.1 * frame["X3"]
    seabed.Dataset(frame).write("curved.csv")
    shared = ["curved.csv", "--posterior", "bootstrap", "--draws", 7, "--seed", 9, "--json"]
    fit = seabed.fit(seabed.Dataset.read("curved.csv"), "bootstrap", draws=7, seed=9)
    same(fit.to_json(), cli("fit", *shared, "--out", "curved.npz"))
    caution = "fail checks against the data"
    assert any(caution in sentence for sentence in json.loads(fit.to_json())["warnings"])
    assert any(caution in sentence for sentence in fit.checks)
    far = {"samples": 30, "seed": 9, "value_range": (8000, 9000)}
    batch = seabed.design(fit, 2, **far)  # type: ignore[arg-type]
    same(batch.to_json(), cli("design", *shared, "--batch", 2, "--samples", 30, "--range", "8000:9000"))
    assert any(caution in sentence for sentence in batch.warnings)
    # A belief in a file knows how far its data went.
    batch = seabed.design(seabed.Fit.load("curved.npz"), 2, **far)  # type: ignore[arg-type]
    same(batch.to_json(), cli("design", "curved.npz", "--batch", 2, "--seed", 9, "--samples", 30, "--range", "8000:9000", "--json"))
    assert any("standard deviations from its mean" in sentence for sentence in batch.warnings)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_with_gaps_are_set_aside_as_by_the_command(cli: Cli, data: seabed.Dataset) -> None:
    frame = data.to_pandas()
    frame.loc[3, "X2"] = float("nan")
    frame.loc[[4, 62], "X4"] = float("nan")
    held = seabed.Dataset(frame)
    for kind in ("csv", "parquet"):
        held.write(f"gaps.{kind}")
        printed = cli("fit", f"gaps.{kind}", "--posterior", "bootstrap", "--draws", 7, "--seed", 2, "--json")
        learned = seabed.fit(seabed.Dataset.read(f"gaps.{kind}"), "bootstrap", draws=7, seed=2)
        same(learned.to_json(), printed)
        assert "3 of 65 rows are set aside" in json.loads(printed)["data_notes"][0]
        shared = ["--posterior", "bootstrap", "--draws", 7, "--seed", 2, "--batch", 2, "--samples", 30, "--json"]
        same(seabed.design(learned, 2, seed=2, samples=30).to_json(), cli("design", f"gaps.{kind}", *shared))


@pytest.mark.parametrize("kind", ["er", "sf"])
def test_simulate(kind: str, cli: Cli) -> None:
    shared = ["simulate", kind, "--nodes", 6, "--seed", 5, "--standardise", "--noise-sd", 0.3]
    cli(*shared, "--n", 20, "--do", "X2=1.5", "--do", "X4=-1", "--out", "theirs.csv", "--save-scm", "theirs.json")
    world = getattr(seabed.worlds, kind)(nodes=6, seed=5, standardise=True, noise_sd=0.3)
    world.sample(20, {"X4": -1, "X2": 1.5}, seed=5).write("ours.csv")
    world.save("ours.json")
    assert Path("ours.csv").read_bytes() == Path("theirs.csv").read_bytes()
    assert Path("ours.json").read_bytes() == Path("theirs.json").read_bytes()


def test_simulate_genes(cli: Cli) -> None:
    cli("simulate", "grn", "--generate", "yeast-like", "--genes", 6, "--seed", 3, "--knockout", "G2", "--n", 4, "--out", "theirs.csv")
    seabed.worlds.genes(6, organism="yeast-like", seed=3).sample(4, {"G2": 0.0}, seed=3).write("ours.csv")
    assert Path("ours.csv").read_bytes() == Path("theirs.csv").read_bytes()


def test_evaluate(cli: Cli, data_csv: str, world: seabed.World, fit: seabed.Fit, data: seabed.Dataset) -> None:
    world.graph.astype(int).to_csv("truth.csv", index=False)
    fit.save("belief.npz")
    theirs = json.loads(cli("evaluate", "--truth", "truth.csv", "--ensemble", "belief.npz", "--data", data_csv, "--json"))
    ours = seabed.evaluate(fit, world, data=data)
    assert {key: ours[key] for key in theirs} == theirs
    fit.median_graph.astype(int).to_csv("median.csv", index=False)
    theirs = json.loads(cli("evaluate", "--truth", "truth.csv", "--estimate", "median.csv", "--json"))
    assert seabed.evaluate(fit.median_graph, world) == theirs


def test_effects(cli: Cli, fit: seabed.Fit) -> None:
    fit.save("belief.npz")
    theirs = json.loads(cli("effects", "belief.npz", "--span", "X1=0:2", "--seed", 3, "--json"))["effects"]
    ours = fit.effects(spans={"X1": (0, 2)}, seed=3)
    for ours_key, key in (("source", "from"), ("target", "to"), ("mean", "mean"), ("not_zero", "not_zero")):
        assert ours[ours_key].tolist() == [one[key] for one in theirs]
    assert ours[["low", "high"]].to_numpy().tolist() == [one["interval"] for one in theirs]


def test_a_campaign_goes_back_and_forth(cli: Cli, world: seabed.World, data: seabed.Dataset) -> None:
    lab = seabed.Campaign.new("cells.lab", data=data, seed=3)
    first = lab.propose(2, posterior="mcmc-linear")
    printed = json.loads(cli("lab", "propose", "cells.lab", "--batch", 2, "--posterior", "mcmc-linear", "--json"))
    form = lab.form(1)
    form.loc[:, world.names] = world.run(first).to_pandas()[world.names].to_numpy()
    form.to_csv("filled.csv", index=False)
    assert "2 done" in cli("lab", "record", "cells.lab", "filled.csv")
    status = lab.status()
    assert status == json.loads(cli("lab", "status", "cells.lab", "--json"))
    assert len(status["pending"]) == len(printed["batch"]) == 2
    assert lab.check() == []


STUDY = """
seeds = 2
rounds = 1
timing = false
[world]
nodes = 4
mechanism = "linear"
observations = 20
[posterior]
kind = "bootstrap"
draws = 5
[design]
strategy = ["random", "greedy-cbed"]
batch = 2
"""


def test_a_study_has_the_same_files(cli: Cli) -> None:
    Path("study.toml").write_text(STUDY)
    cli("sweep", "study.toml", "--out", "theirs")
    Path("study.toml").rename("ours.toml")
    study = seabed.Study("ours.toml")
    study.run()
    theirs = {path.relative_to("theirs"): path.read_bytes() for path in Path("theirs").rglob("*") if path.is_file()}
    ours = {path.relative_to("ours"): path.read_bytes() for path in Path("ours").rglob("*") if path.is_file()}
    assert ours.keys() == theirs.keys() and len(ours) > 40
    assert [str(name) for name in ours if ours[name] != theirs[name]] == []
    cli("report", "theirs", "--out", "report.html")
    assert study.report() == Path("report.html").read_text().replace(">theirs<", ">ours<")
