"""The laboratory's file."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import pytest

import seabed


@pytest.fixture
def lab(data: seabed.Dataset) -> seabed.Campaign:
    return seabed.Campaign.new("cells.lab", data=data, seed=1, note="first")


def test_from_data_to_a_report(lab: seabed.Campaign, world: seabed.World) -> None:
    assert lab.edge_probabilities is None and lab.data is not None and len(lab.data) == 65
    batch = lab.propose(3, posterior="mcmc-linear", note="round 1", posterior_options={"draws": 50})
    assert [trial.id for trial in batch] == ["E001", "E002", "E003"] and batch.names == world.names
    assert len(lab.status()["pending"]) == 3 and batch.to_pandas().shape == (3, 5)
    form = lab.form()
    assert form["experiment"].tolist() == ["E001", "E002", "E003"]
    form.loc[:, world.names] = world.run(batch).to_pandas()[world.names].to_numpy()
    form.loc[2, "status"] = "failed"
    form.loc[2, [name for name in world.names if name not in batch[2].targets]] = float("nan")
    recorded = lab.record(form)
    assert (recorded["done"], recorded["failed"]) == (2, 1)
    amended = lab.amend("E001", values={"X4": 1.25}, note="wrong column")
    assert amended["changed"] == 1
    assert lab.amend("E002", status="failed")["changed"] == 1
    assert lab.undo().startswith("action")
    status = lab.status(learn=True)
    assert status["rows"] == 67 and status["rounds"][0]["done"] == 2 and not status["not_yet_learned"]
    assert status["next_information"] is None
    assert lab.status(next_batch=True)["next_information"] is not None
    assert lab.edge_probabilities is not None and lab.edge_probabilities.shape == (4, 4)
    page = lab.report("report.html")
    assert Path("report.html").read_text() == page and "round 1" in page
    assert "data.csv" in lab.export("export") and lab.check() == []
    assert "67 measurements" in repr(lab) and pickle.loads(pickle.dumps(lab)).path == lab.path


def test_variables_are_said_by_a_dict(data: seabed.Dataset) -> None:
    can = {
        "X1": {"unit": "nM", "intervene": True, "bounds": (0.0, 2.0)},
        "X2": {"intervene": True, "levels": [0.0, 1.0]},
        "X3": {},
        "X4": {"unit": "µg"},
    }
    lab = seabed.Campaign.new("dict.lab", variables=can)
    assert lab.variables["unit"].tolist() == ["nM", "", "", "µg"]
    lab.add(data)
    for trial in lab.propose(4, posterior="mcmc-linear", strategy="random", goal="effect=X1,X4"):
        ((name, value),) = trial.targets.items()
        assert (name == "X1" and 0 <= value <= 2) or (name == "X2" and value in (0.0, 1.0))


def test_replicates_are_rows_of_the_form(lab: seabed.Campaign) -> None:
    batch = lab.propose(2, posterior="mcmc-linear", replicates=2, posterior_options={"draws": 20})
    assert [trial.rows for trial in batch] == [2, 2] and len(batch.to_pandas()) == 4 == len(lab.form())
    assert all(trial.decides and trial.decides in repr(batch) for trial in batch)


def test_forms_from_spreadsheets_are_recorded_with_a_note(lab: seabed.Campaign, world: seabed.World) -> None:
    batch = lab.propose(2, posterior="mcmc-linear", posterior_options={"draws": 20})
    form = lab.form()
    form.loc[:, world.names] = world.run(batch).to_pandas()[world.names].to_numpy()
    # As Excel writes it in many countries, with a column of the laboratory's own.
    form.assign(who="me").to_csv("filled.csv", index=False, sep=";", decimal=",")
    recorded = lab.record("filled.csv", ignore=["who"])
    assert recorded["done"] == 2
    assert len(recorded["notes"]) == 1 and "semicolons" in recorded["notes"][0] and "--" not in recorded["notes"][0]
    assert lab.record(form)["notes"] == []


def test_gaps_are_kept_and_not_learned_from(world: seabed.World) -> None:
    frame = world.sample(30).to_pandas()
    frame.loc[2, "X1"] = float("nan")
    lab = seabed.Campaign.new("gaps.lab", data=frame)
    assert lab.status()["incomplete"] == 1 and lab.data is not None and len(lab.data) == 29


def test_known_rows_are_refused(lab: seabed.Campaign, data: seabed.Dataset, world: seabed.World) -> None:
    with pytest.raises(seabed.CampaignError):
        lab.add(data)
    grown = data.append(world.sample(2, seed=9))
    assert lab.add(grown, only_new=True)["rows"] == 2
    assert lab.add(data, again=True)["rows"] == 65
    with_gap = pd.DataFrame({"X1": [1.0], "X2": [None], "X3": [2.0], "X4": [0.5]})
    assert lab.add(with_gap)["incomplete"] == 1
    with pytest.raises(seabed.CampaignError, match="exists"):
        seabed.Campaign.new("cells.lab", data=data)
