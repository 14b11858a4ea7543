"""Fit, design, evaluate, worlds: shapes, determinism, knowledge, constraints, files, pickles, notebooks."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import seabed


def test_a_fit_has_what_people_look_at(fit: seabed.Fit, data: seabed.Dataset) -> None:
    p = fit.edge_probabilities
    assert list(p.index) == list(p.columns) == data.names
    assert fit.graphs.shape == (len(fit.weights), 4, 4) and fit.graphs.dtype == bool
    np.testing.assert_allclose(np.tensordot(fit.weights, fit.graphs, 1), p, atol=1e-12)
    assert fit.weights.sum() == pytest.approx(1) and len(fit.ensemble) == len(fit.weights)
    assert fit.edges["probability"].is_monotonic_decreasing and len(fit.edges) == 12
    assert fit.diagnostics and isinstance(fit.checks, list) and fit.notes
    assert "Fit: 4 variables" in repr(fit)
    html = fit._repr_html_()
    assert "<svg" in html and "<table" in html
    assert fit.data == data


def test_graphs_become_networkx(fit: seabed.Fit) -> None:
    nx = pytest.importorskip("networkx", reason="networkx is not installed, so nothing is tested with it")
    median = fit.to_networkx()
    assert isinstance(median, nx.DiGraph) and list(median.nodes) == fit.names
    assert all(attributes["probability"] > 0.5 for *_, attributes in median.edges(data=True))
    first = fit.to_networkx(0)
    assert nx.is_directed_acyclic_graph(first)
    assert nx.to_numpy_array(first, weight=None).astype(bool).tolist() == fit.graphs[0].tolist()


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(data: seabed.Dataset) -> None:
    def belief(threads: int, seed: int = 5) -> bytes:
        return seabed.fit(data, "mcmc-linear", draws=20, sweeps=400, seed=seed, threads=threads)._belief.to_bytes(False)

    assert belief(1) == belief(3) != belief(1, seed=6)
    shuffled = seabed.fit(seabed.Dataset(data.to_pandas()[["X3", "X1", seabed.TARGETS_COLUMN, "X4", "X2"]]), "bootstrap", draws=8)
    plain = seabed.fit(data, "bootstrap", draws=8)
    pd.testing.assert_frame_equal(shuffled.edge_probabilities.loc[data.names, data.names], plain.edge_probabilities)


@pytest.mark.parametrize(
    ("posterior", "options"),
    [
        ("mcmc-gp", {"draws": 10, "sweeps": 100, "chains": 2}),
        ("mcmc-linear", {"draws": 10, "max_parents": 2, "prior": "sf", "edge_probabilities": None}),
        ("mcmc-linear", {"draws": 10, "edge_probabilities": {("X1", "X2"): 0.999}}),
        ("bootstrap", {"draws": 5, "penalty": 3.0, "max_degree": 2}),
        ("dibs-linear", {"particles": 3, "steps": 20, "noise": 0.5}),
        ("dibs-nonlinear", {"particles": 3, "steps": 20, "all_steps": True, "estimator": "joint"}),
        ("dibs-bge", {"particles": 3, "steps": 20, "walk": 0, "weights": "log-joint"}),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_posterior_obeys_what_is_known(posterior: str, options: dict[str, object], data: seabed.Dataset) -> None:
    known = {"forbidden": [("X1", "X2")], "required": [["X4", "X3"]], "tiers": [["X4"], ["X1", "X2", "X3"]]}
    if options.get("edge_probabilities"):
        known = {"required": [["X4", "X3"]]}
    found = seabed.fit(data, posterior, knowledge=known, **options).edge_probabilities  # type: ignore[arg-type]
    assert found.at["X4", "X3"] == 1.0
    if "forbidden" in known:
        assert found.at["X1", "X2"] == 0.0 and (found["X4"] == 0.0).all()


def test_files_and_pickles_give_the_same_belief(fit: seabed.Fit) -> None:
    for name in ("belief.npz", "belief.json"):
        fit.save(name)
        loaded = seabed.Fit.load(name)
        pd.testing.assert_frame_equal(loaded.edge_probabilities, fit.edge_probabilities)
        assert loaded.data is None and loaded.diagnostics == {} and "Fit" in repr(loaded)
        assert json.loads(loaded.to_json())["names"] == fit.names
        for given in ({}, {"value_range": (-1, 1)}):
            # Values are chosen as from the data, which the file remembers in brief.
            assert seabed.design(loaded, 2, seed=2, **given).trials == seabed.design(fit, 2, seed=2, **given).trials
    again = pickle.loads(pickle.dumps(fit))
    assert again.to_json() == fit.to_json() and again.data == fit.data and again.notes == fit.notes
    assert np.load("belief.npz", allow_pickle=False) is not None


def test_predictions_are_those_of_the_models(fit: seabed.Fit) -> None:
    rows = fit.ensemble.predict({"X2": 2.0}, n=3)
    assert rows.shape == (3 * len(fit.weights), 4) and (rows["X2"] == 2.0).all()
    pd.testing.assert_frame_equal(rows, fit.ensemble.predict({"X2": 2.0}, n=3, threads=1))
    assert fit.ensemble.model(0).keys() and "models" in repr(fit.ensemble)
    pd.testing.assert_frame_equal(rows, pickle.loads(pickle.dumps(fit.ensemble)).predict({"X2": 2.0}, n=3))


def test_effects_are_those_of_the_models(fit: seabed.Fit) -> None:
    found = fit.effects()
    assert len(found) == 12 and (found["low"] <= found["high"]).all()
    assert ((found["positive"] + found["negative"]).between(0, 1.000001)).all() and found["not_zero"].between(0, 1).all()
    fit.save("belief.npz")
    pd.testing.assert_frame_equal(found, seabed.Fit.load("belief.npz").effects(threads=1))
    assert len(fit.effects(spans={"X1": (0, 1)})) == 12
    for spans in ({"X1": 3}, {"X1": (1, 1)}, {"Y": (0, 1)}):
        with pytest.raises(seabed.SettingsError, match="spans"):
            fit.effects(spans=spans)  # type: ignore[arg-type]


def test_a_batch_is_a_table_and_a_form(fit: seabed.Fit) -> None:
    batch = seabed.design(fit, 3, replicates=2, seed=1)
    assert len(batch) == 3 and batch.frame.shape == (3, 7) and [trial.rows for trial in batch] == [2, 2, 2]
    assert batch.strategy == "greedy-edges" and batch.expected_gain > 0 and batch.forecast
    form = batch.to_pandas()
    assert form.shape == (6, 5)
    for trial, said in zip(batch, form[seabed.TARGETS_COLUMN][::2], strict=True):
        assert said == ";".join(trial.targets)
    assert len(batch.evaluated) >= len(batch)
    assert "do(" in repr(batch) and "<table" in batch._repr_html_()
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_a_batch_says_what_it_decides_and_what_to_beware_of(fit: seabed.Fit) -> None:
    batch = seabed.design(fit, 2, seed=1, bounds={name: (8000.0, 9000.0) for name in fit.names})
    words = ("decides", "makes clearer", "no single edge")
    assert all(trial.decides.startswith(words) and trial.decides in repr(batch) for trial in batch)
    assert batch.frame["decides"].tolist() == [trial.decides for trial in batch]
    # Far from all that was measured.
    assert batch.warnings and all(f"warning: {sentence}" in repr(batch) for sentence in batch.warnings)
    assert "<b>warning:</b>" in batch._repr_html_() and "..." not in batch._repr_html_()


def test_constraints_hold(fit: seabed.Fit) -> None:
    batch = seabed.design(
        fit,
        6,
        targets=["X1", "X2", "X3"],
        forbidden=["X3"],
        bounds={"X1": (0.25, 0.5)},
        levels={"X2": [3.0, 1.0, 1.0]},
        cost={"X2": 2.0},
        max_repeats=4,
        budget=8.0,
    )
    assert sum(trial.cost for trial in batch) <= 8.0
    for trial in batch:
        ((name, value),) = trial.targets.items()
        assert (name == "X1" and 0.25 <= value <= 0.5) or (name == "X2" and value in (1.0, 3.0))
    for strategy in ("random", "cbed", "soft-cbed", "greedy-cbed", "ait", "abcd", "greedy-graph", "greedy-ancestors"):
        assert seabed.design(fit, 2, strategy=strategy, samples=20).strategy == strategy
    # By default nothing beyond what was measured or set.
    assert fit.data is not None
    low, high = fit.data.values.min(axis=0), fit.data.values.max(axis=0)
    for trial in seabed.design(fit, 6, samples=20):
        ((name, value),) = trial.targets.items()
        assert low[fit.names.index(name)] <= value <= high[fit.names.index(name)]
    fixed = seabed.design(fit, 2, values=1.25, value_range=(-2, 2), max_targets=2, samples=20)
    assert {value for trial in fixed for value in trial.targets.values()} == {1.25}
    listed = seabed.design(fit, 3, values=[0.5, 1.0], value_range=(-2, 2), samples=20)
    assert set(listed.evaluated["targets"].map(lambda t: list(t.values())[0])) <= {0.5, 1.0}
    assert len(seabed.design(fit, 4, goal="parents=X3", utility="graph", samples=20)) == 4
    pending = seabed.design(fit, 1, pending=[{"X1": 1.0}] * 5, samples=50)
    assert pending.expected_gain < seabed.design(fit, 1, samples=50).expected_gain


def test_own_experiments_are_scored(fit: seabed.Fit) -> None:
    found = seabed.score(fit, [{"X1": 1.0}, {"X1": 1.0, "X2": 0.0}], samples=50)
    assert (found["information"] > 0).all() and found.attrs["unit"] == "squared error of edge probabilities"


def test_metrics_take_any_kind_of_graph(world: seabed.World) -> None:
    pytest.importorskip("networkx", reason="networkx is not installed, so nothing is tested with it")
    truth = world.graph
    reversed_ = truth.T
    for of in (lambda g: g, lambda g: g.to_numpy(), lambda g: g.astype(int), seabed.to_networkx, lambda g: g.to_numpy().tolist()):
        assert seabed.shd(of(truth), of(truth)) == 0 == seabed.sid(of(truth), of(truth))
        assert seabed.shd_double(of(truth), of(reversed_)) == 2 * int(truth.to_numpy().sum())
    undirected = np.array([[0, 1], [1, 0]])
    assert seabed.sid(np.array([[0, 1], [0, 0]]), undirected) == (0, 2)
    assert seabed.shd(world, seabed.to_networkx(truth).reverse()) == int(truth.to_numpy().sum())
    shuffled = truth.loc[world.names[::-1], world.names[::-1]]
    assert seabed.shd(truth, shuffled) == 0


def test_a_fit_is_evaluated(fit: seabed.Fit, world: seabed.World, data: seabed.Dataset) -> None:
    found = seabed.evaluate(fit, world, data=data)
    assert {"eshd", "esid", "auroc", "auprc", "ef1", "brier", "ece", "var_sortability", "held_out_log_likelihood"} <= set(found)
    assert seabed.evaluate(None, world, data=data).keys() == {"var_sortability", "r2_sortability"}


def test_worlds_answer(world: seabed.World, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(world))
    assert again.sample(5) == world.sample(5) and "4 variables" in repr(world)
    world.save(tmp_path / "world.json")
    assert seabed.worlds.load(tmp_path / "world.json").sample(3, {"X1": 0.5}, seed=4) == world.sample(3, {"X1": 0.5}, seed=4)
    assert seabed.simulate(world, 3, {"X1": 0.5}, seed=4) == world.sample(3, {"X1": 0.5}, seed=4)
    repeated = world.run([{"X1": 1.0}, {"X2": 0.0}, {"X1": 1.0}])
    assert repeated.targets == [("X1",), ("X2",), ("X1",)]
    assert repeated.values[0, 3] != repeated.values[2, 3] or world.graph.loc["X1"].sum() == 0
    genes = seabed.worlds.genes(5, seed=2)
    assert genes.sample(2, {genes.names[0]: 0.0}).shape == (2, 5)
    assert pickle.loads(pickle.dumps(genes)).names == genes.names
    genes.save(tmp_path / "genes.xml")
    assert seabed.worlds.load(tmp_path / "genes.xml").graph.equals(genes.graph)


def test_the_models_are_checked_against_the_data(world: seabed.World) -> None:
    data = world.sample(300)
    clean = seabed.fit(data, "mcmc-linear", draws=50)
    assert clean.findings.empty and clean.checks == clean.warnings
    frame = data.to_pandas()
    frame["X3"] = frame["X1"] ** 2 + 0.1 * frame["X3"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curved = seabed.fit(frame, "mcmc-linear", draws=50)
    assert len(curved.findings) > 0 and set(curved.findings["text"]) <= set(curved.checks)
    assert (curved.findings["p_value"] <= 0.05).all()


def test_how_a_file_was_read_stays_with_its_data(data: seabed.Dataset) -> None:
    frame = data.to_pandas()
    frame.loc[3, "X1"] = float("nan")
    frame.to_csv("gap.csv", index=False)
    read = seabed.Dataset.read("gap.csv")
    with pytest.warns(seabed.SeabedWarning, match="set aside"):
        fit = seabed.fit(read, "bootstrap", draws=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = seabed.fit(data, "bootstrap", draws=5)
    said = json.loads(fit.to_json())["data_notes"]
    assert said and pickle.loads(pickle.dumps(fit)).to_json() == fit.to_json()
    assert seabed.design(fit, 1, samples=20).form["data_notes"] == said
    assert json.loads(plain.to_json())["data_notes"] == []


def test_doubts_are_warnings_and_checks(data: seabed.Dataset) -> None:
    with pytest.warns(UserWarning, match="chains"):
        fit = seabed.fit(data, "mcmc-linear", draws=20, sweeps=4)
    assert fit.checks and "<b>warning:</b>" in fit._repr_html_() and "warnings, see .checks" in repr(fit)
