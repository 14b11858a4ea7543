"""Ask and tell: the loop, what is pending, what failed, saving, determinism."""

from __future__ import annotations

import json
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import seabed


def new(world: seabed.World, **options: object) -> seabed.Experiment:
    arguments = {"posterior": "mcmc-linear", "posterior_options": {"draws": 30}, "seed": 5, **options}
    return seabed.Experiment(world.names, **arguments)  # type: ignore[arg-type]


@pytest.fixture
def exp(world: seabed.World) -> seabed.Experiment:
    experiment = new(world)
    experiment.tell(world.sample(40))
    return experiment


def test_a_loop_learns(world: seabed.World, exp: seabed.Experiment) -> None:
    before = seabed.evaluate(exp.fit(), world)["eshd"]
    for k in range(3):
        batch = exp.ask(4)
        assert [trial.id for trial in batch] == list(range(4 * k, 4 * k + 4))
        exp.tell(batch, world.run(batch, seed=k))
    assert exp.data is not None and len(exp.data) == 52 and exp.pending == []
    after = seabed.evaluate(exp.fit(), world)["eshd"]
    assert after is not None and before is not None and after <= before
    assert exp.fit().data == exp.data and "52 rows" in repr(exp)


def test_pending_experiments_are_honoured(exp: seabed.Experiment) -> None:
    first = exp.ask(3)
    second = exp.ask(3)
    assert [trial.id for trial in exp.pending] == list(range(6))
    # What is still open after the first batch is less than what was open before it.
    assert second.expected_gain < first.expected_gain
    exp.abandon(first)
    assert [trial.id for trial in exp.pending] == [3, 4, 5]
    exp.abandon(4)
    exp.abandon([exp.pending[0], 5])
    assert exp.pending == []
    exp.ask(2)
    exp.abandon()
    assert exp.pending == []


def test_outcomes_come_in_every_form(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    outcomes = world.run(batch)
    frame = outcomes.to_pandas()
    forms = [
        outcomes,
        frame,
        frame.drop(columns=seabed.TARGETS_COLUMN),
        frame[world.names[::-1]],
        outcomes.values,
        frame[world.names].to_dict("records"),
    ]
    saved = exp.to_json()
    found = []
    for form in forms:
        again = seabed.Experiment.from_json(saved)
        again.tell(batch, form)
        assert again.pending == [] and again.data is not None
        found.append(again.data)
    assert all(data == found[0] for data in found)
    assert found[0].targets[-2:] == [tuple(trial.targets) for trial in batch]


def test_one_trial_at_a_time_and_targets_may_be_left_out(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    for trial in batch:
        row = dict(zip(world.names, world.run([trial]).values[0].tolist(), strict=True))
        exp.tell(trial, {name: value for name, value in row.items() if name not in trial.targets})
    assert exp.pending == [] and exp.data is not None
    for trial, values in zip(batch, exp.data.values[-2:], strict=True):
        for name, value in trial.targets.items():
            assert values[world.names.index(name)] == value
    with pytest.raises(seabed.SettingsError, match="not pending"):
        exp.tell(batch, world.run(batch))


def test_pending_trials_are_told_after_a_restart(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(3)
    outcomes = world.run(batch).to_pandas()
    later = seabed.Experiment.from_json(exp.to_json())
    later.tell(later.pending[1:], outcomes[1:])
    assert [trial.id for trial in later.pending] == [0]
    # Trials of another experiment have the same numbers, but not the same targets.
    other = new(world, seed=6)
    other.tell(world.sample(60, seed=3))
    strange = other.ask(3)
    assert strange[0].targets != later.pending[0].targets
    with pytest.raises(seabed.SettingsError, match="not of this experiment"):
        later.tell(strange[0], outcomes[:1])


def test_failed_outcomes_are_abandoned(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(3)
    rows: list[dict[str, float] | None] = [
        dict(zip(world.names, row, strict=True)) for row in world.run(batch).values.tolist()
    ]
    rows[1] = None
    exp.tell(batch, rows)
    assert exp.data is not None and len(exp.data) == 42 and exp.pending == []
    batch = exp.ask(2)
    empty = pd.DataFrame(np.nan, index=range(2), columns=world.names)
    exp.tell(batch, empty)
    assert len(exp.data) == 42 and exp.pending == []


def test_repeated_experiments_have_several_rows(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2, replicates=3)
    assert [trial.rows for trial in batch] == [3, 3]
    # Rows that answer a pending experiment, told without the batch.
    exp.tell(world.sample(2, batch[0].targets))
    assert sum(trial.rows for trial in exp.pending) == 4
    exp.tell(world.sample(1, batch[0].targets))
    assert [trial.id for trial in exp.pending] == [1]


def test_values_that_were_really_set_are_believed(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(1)
    ((name, value),) = batch[0].targets.items()
    outcome = world.sample(1, {name: value + 0.125}).to_pandas()
    with pytest.warns(seabed.SeabedWarning, match=f"trial 0 asked for do\\({name}.*what is told is believed"):
        exp.tell(batch, outcome)
    assert exp.data is not None and exp.data.values[-1, world.names.index(name)] == value + 0.125


def test_rounding_is_no_contradiction(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", seabed.SeabedWarning)
        exp.tell(batch, world.run([{name: round(v, 3) for name, v in trial.targets.items()} for trial in batch]))


def test_values_that_cannot_be_set_are_said(world: seabed.World) -> None:
    can = {"X1": (0.0, 1.0), "X2": [0.0, 1.0, 5.0], "X3": None, "X4": None}
    for only, told, said in (("X1", 7.0, "X1 can be set from 0 to 1"), ("X2", 2.0, "the levels of X2 are 0, 1, 5")):
        exp = seabed.Experiment(can, posterior="bootstrap", posterior_options={"draws": 5}, targets=[only])
        exp.tell(world.sample(30))
        batch = exp.ask(1)
        with pytest.warns(seabed.SeabedWarning, match=said):
            exp.tell(batch, world.sample(1, {only: told}))


def test_rows_of_other_trials_are_refused(world: seabed.World) -> None:
    exp = new(world, bounds={"X1": (3, 4), "X2": (8, 9)}, targets=["X1", "X2"], max_repeats=1)
    exp.tell(world.sample(40))
    batch = exp.ask(2)
    outcomes = world.run(batch).to_pandas()[world.names]
    before = exp.to_json()
    with pytest.raises(seabed.DataError, match="row 1 is to answer trial 0.*looks like the row of trial 1.*order"):
        exp.tell(batch, outcomes[::-1])
    assert exp.to_json() == before
    exp.tell(batch, outcomes)


def test_outcomes_told_as_observations_are_doubted(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    outcomes = world.run(batch).to_pandas()[world.names]
    with pytest.warns(seabed.SeabedWarning, match=r"row 0 has what trial 0 was to set, do\(.*tell\(batch, outcomes\)"):
        exp.tell(outcomes)


def test_a_part_of_an_outcome_is_refused(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    outcomes = world.run(batch).to_pandas()
    lacking = next(name for name in world.names if name not in batch[1].targets)
    outcomes.loc[1, lacking] = np.nan
    with pytest.raises(seabed.DataError, match=f"row 2 \\(trial 1\\) has no value of '{lacking}'.*None"):
        exp.tell(batch, outcomes)
    assert len(exp.pending) == 2


def test_measurements_with_gaps_are_set_aside(world: seabed.World) -> None:
    frame = world.sample(40).to_pandas()
    frame.loc[3, "X2"] = np.nan
    exp = new(world)
    with pytest.warns(seabed.SeabedWarning, match="1 of 40 rows is set aside"):
        exp.tell(frame)
    assert exp.data is not None and len(exp.data) == 39


def test_the_history_of_trials(world: seabed.World, exp: seabed.Experiment) -> None:
    assert exp.trials.empty and exp.trials.columns.tolist() == ["targets", "rows", "told", "state"]
    first, second = exp.ask(3), exp.ask(2, replicates=2)
    outcomes = world.run(first).to_pandas()
    exp.tell(1, outcomes[1:2])
    exp.abandon(2)
    exp.tell(world.sample(1, second[0].targets))
    later = pickle.loads(pickle.dumps(exp))
    for one in (exp, later):
        trials = one.trials
        assert trials.index.tolist() == [0, 1, 2, 3, 4] and trials["rows"].tolist() == [1, 1, 1, 2, 2]
        assert trials["state"].tolist() == ["pending", "told", "abandoned", "pending", "pending"]
        assert trials["told"].tolist() == [0, 1, 0, 1, 0]
        assert trials["targets"][4] == second[1].targets
        one.tell([0, 4], [None, None, None])
        one.abandon(3)
        assert one.trials["state"].tolist() == ["abandoned", "told", "abandoned", "told", "abandoned"]
    with pytest.raises(seabed.SettingsError, match="trial 1 is not pending"):
        exp.tell(1, outcomes[1:2])
    # What an earlier version saved has no history.
    older = json.loads(new(world).to_json())
    del older["trials"]
    assert seabed.Experiment.from_json(json.dumps(older)).trials.empty


def test_an_error_changes_nothing(world: seabed.World, exp: seabed.Experiment) -> None:
    batch = exp.ask(2)
    before = exp.to_json()
    for wrong in ({"X1": [1.0, 2.0]}, np.ones((3, 4)), np.full((2, 4), np.inf), {"Y": [1.0, 2.0]}):
        with pytest.raises(seabed.SeabedError):
            exp.tell(batch, wrong)
    assert exp.to_json() == before


def test_saving_at_any_time_changes_no_answer(world: seabed.World) -> None:
    def loop(save: bool) -> str:
        exp = new(world)
        ways = [
            lambda e: seabed.Experiment.from_json(e.to_json(), threads=1),
            lambda e: pickle.loads(pickle.dumps(e)),
            lambda e: (e.save("e.json"), seabed.Experiment.load("e.json"))[1],
        ]
        exp.tell(world.sample(30))
        for k in range(3):
            exp = ways[k](exp) if save else exp
            batch = exp.ask(2)
            exp = ways[k](exp) if save else exp
            exp.tell(batch, world.run(batch, seed=k))
        return exp.to_json()

    assert json.loads(loop(True)) == json.loads(loop(False))
    empty = seabed.Experiment.from_json(new(world).to_json())
    assert empty.data is None and empty.names == world.names


def test_what_variables_can_do_is_said_once(world: seabed.World) -> None:
    can = {"X1": (0.0, 1.0), "X2": {"levels": [0.0, 5.0]}, "X3": None, "X4": None}
    exp = seabed.Experiment(can, posterior="mcmc-linear", posterior_options={"draws": 30}, goal="parents=X4", strategy="random")
    exp.tell(world.sample(30))
    for trial in exp.ask(10):
        ((name, value),) = trial.targets.items()
        assert (name == "X1" and 0 <= value <= 1) or (name == "X2" and value in (0.0, 5.0))


def test_the_order_of_columns_does_not_matter(world: seabed.World) -> None:
    one, other = new(world), new(world)
    data = world.sample(30)
    one.tell(data)
    other.tell(data.to_pandas()[world.names[::-1]])
    assert one.ask(2) == other.ask(2)


def test_threads_may_share_an_experiment(world: seabed.World, exp: seabed.Experiment) -> None:
    batches: list[seabed.Batch] = []
    workers = [threading.Thread(target=lambda: batches.append(exp.ask(1))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(batch[0].id for batch in batches) == [0, 1, 2, 3] and len(exp.pending) == 4
