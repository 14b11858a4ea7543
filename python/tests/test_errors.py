"""Bad input is an exception with a clear class and a message that names the thing; never a panic."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import seabed
from seabed import CampaignError, DataError, FileError, KnowledgeError, SeabedError, SettingsError, StudyError, WorldError

ROOT = Path(__file__).resolve().parents[2]

OK = {"a": [1.0, 2.0, 0.5, 3.0], "b": [2.0, 1.0, 0.3, 2.2]}
FRAME = pd.DataFrame(OK)


def fit(**arguments: Any) -> Any:
    return seabed.fit(OK, "bootstrap", draws=3, **arguments)


def design(**arguments: Any) -> Any:
    return seabed.design(fit(), 1, **arguments)


def _with(package: str) -> Any:
    return pytest.importorskip(package, reason=f"{package} is not installed, so nothing is tested with it")


def _polars_categories() -> Any:
    pl = _with("polars")
    return pl.DataFrame({"x": pl.Series(["u"], dtype=pl.Categorical)})


def told() -> seabed.Experiment:
    experiment = seabed.Experiment(["a", "b"], posterior="bootstrap", posterior_options={"draws": 3})
    experiment.tell(OK)
    return experiment


CASES: list[tuple[str, type[SeabedError], str, Callable[[], Any]]] = [
    # Data
    ("text", DataError, "'x'", lambda: seabed.Dataset({"x": ["1", "high"]})),
    ("dates", DataError, "'x'", lambda: seabed.Dataset({"x": pd.to_datetime(["2020-01-01"])})),
    ("complex", DataError, "'x'", lambda: seabed.Dataset({"x": [1j]})),
    ("categories", DataError, "ignore", lambda: seabed.Dataset({"x": pd.Categorical(["u", "v"])})),
    ("arrow text", DataError, "'x'", lambda: seabed.Dataset(_with("pyarrow").table({"x": ["u"]}))),
    ("arrow categories", DataError, "categories", lambda: seabed.Dataset(_polars_categories())),
    ("no rows", DataError, "no rows", lambda: seabed.Dataset(FRAME[:0])),
    ("no columns", DataError, "no variables", lambda: seabed.Dataset(pd.DataFrame(index=range(3)))),
    ("empty list", DataError, "no rows", lambda: seabed.Dataset([])),
    ("infinite", DataError, "inf", lambda: seabed.Dataset({"x": [1.0, np.inf]})),
    ("same name twice", DataError, "both called", lambda: seabed.Dataset(np.ones((2, 2)), names=["a", "a"])),
    ("name with ;", DataError, "`;`", lambda: seabed.Dataset({"a;b": [1.0]})),
    ("blank name", DataError, "no name", lambda: seabed.Dataset({" ": [1.0]})),
    ("one dimension", DataError, "table", lambda: seabed.Dataset(np.ones(3))),
    ("three dimensions", DataError, "table", lambda: seabed.Dataset(np.ones((2, 2, 2)))),
    ("too few names", DataError, "2 columns", lambda: seabed.Dataset(np.ones((2, 2)), names=["a"])),
    ("names of a frame", SettingsError, "names", lambda: seabed.Dataset(FRAME, names=["c", "d"])),
    ("a number", DataError, "int", lambda: seabed.Dataset(3)),
    ("a path", DataError, "read", lambda: seabed.Dataset("data.csv")),
    ("lists of different lengths", DataError, "no table", lambda: seabed.Dataset({"a": [1], "b": [1, 2]})),
    ("list of lists", DataError, "dicts", lambda: seabed.Dataset([[1, 2]])),
    ("unknown target", DataError, "'c'|\"c\"", lambda: seabed.Dataset(OK, interventions=[["c"], None, None, None])),
    ("too few sets of targets", DataError, "4 rows", lambda: seabed.Dataset(OK, interventions=[None])),
    ("mask of another shape", DataError, "shape", lambda: seabed.Dataset(OK, interventions=np.zeros((2, 2), bool))),
    ("mask of numbers", DataError, "True and False", lambda: seabed.Dataset(OK, interventions=np.full((4, 2), 0.5))),
    ("targets as numbers", DataError, "names", lambda: seabed.Dataset(OK, interventions=[[1], None, None, None])),
    ("unknown column to ignore", DataError, "'c'", lambda: seabed.Dataset(OK, ignore=["c"])),
    ("no such file", DataError, "nowhere.csv", lambda: seabed.Dataset.read("nowhere.csv")),
    ("unknown kind of file", DataError, "unknown file type", lambda: seabed.Dataset.read("data.xyz")),
    ("unwritable", FileError, "no/such/folder", lambda: seabed.Dataset(OK).write("no/such/folder/data.csv")),
    ("other variables", DataError, "differ", lambda: seabed.Dataset(OK).append({"a": [1.0], "c": [1.0]})),
    # Fit
    ("unknown posterior", SettingsError, "did you mean", lambda: seabed.fit(OK, "mcmc-liner")),
    ("posterior is no name", SettingsError, "posterior", lambda: seabed.fit(OK, 3)),  # type: ignore[arg-type]
    ("too few rows", DataError, "rows", lambda: seabed.fit({"a": [1.0], "b": [2.0]}, "bootstrap")),
    ("option of another posterior", SettingsError, "particles", lambda: fit(particles=3)),
    ("no draws", SettingsError, "draws = 0", lambda: seabed.fit(OK, "bootstrap", draws=0)),
    ("a text for a number", SettingsError, "draws", lambda: seabed.fit(OK, "bootstrap", draws="many")),  # type: ignore[arg-type]
    ("not a number", SettingsError, "penalty", lambda: fit(penalty=float("nan"))),
    ("negative seed", SettingsError, "seed", lambda: fit(seed=-1)),
    ("seed is no number", SettingsError, "seed", lambda: fit(seed="x")),
    ("no threads", SettingsError, "threads", lambda: fit(threads=0)),
    ("progress is no function", SettingsError, "progress", lambda: fit(progress="bar")),
    ("unknown key of knowledge", KnowledgeError, "forbiden", lambda: fit(knowledge={"forbiden": []})),
    ("unknown name in knowledge", KnowledgeError, "c", lambda: fit(knowledge={"required": [("a", "c")]})),
    ("cycle in knowledge", KnowledgeError, "cycle|both", lambda: fit(knowledge={"required": [("a", "b"), ("b", "a")]})),
    ("tiers are no lists", KnowledgeError, "tiers", lambda: fit(knowledge={"tiers": 3})),
    ("a tier is no list", KnowledgeError, "tiers", lambda: fit(knowledge={"tiers": ["a", "b"]})),
    ("edges are no list", KnowledgeError, "forbidden", lambda: fit(knowledge={"forbidden": 3})),
    ("predict with a text", SettingsError, "do", lambda: fit().ensemble.predict({"a": "x"})),
    ("predict is no experiment", SettingsError, "no experiment", lambda: fit().ensemble.predict(3)),  # type: ignore[arg-type]
    ("edge of three", KnowledgeError, "no edge", lambda: fit(knowledge={"forbidden": [("a", "b", "c")]})),
    ("values too large", DataError, "too large", lambda: seabed.fit({"a": [1e200, 1, 2, 3], "b": [1, 2, 3, 5]}, "bootstrap")),
    ("file of another kind", SettingsError, ".npz", lambda: fit().save("belief.txt")),
    ("not a belief", FileError, "x.npz", lambda: (open("x.npz", "wb").write(b"nonsense"), seabed.Fit.load("x.npz"))),
    ("no such belief", FileError, "x.npz", lambda: seabed.Fit.load("x.npz")),
    ("no such draw", SettingsError, "draw", lambda: fit().to_networkx(99)),
    ("no such model", SettingsError, "draw", lambda: fit().ensemble.model(99)),
    ("a span too large", SettingsError, "spans.*1e100", lambda: fit().effects(spans={"a": (0, 1e200)})),
    # Design
    ("empty batch", SettingsError, "batch", lambda: seabed.design(fit(), 0)),
    ("half a batch", SettingsError, "batch", lambda: seabed.design(fit(), 1.5)),  # type: ignore[arg-type]
    ("a fit is needed", SettingsError, "Fit", lambda: seabed.design(OK)),  # type: ignore[arg-type]
    ("unknown strategy", SettingsError, "greedy-cbed", lambda: design(strategy="best")),
    ("unknown utility", SettingsError, "edges", lambda: design(utility="fame")),
    ("strategy and utility", SettingsError, "not both", lambda: design(strategy="random", utility="model")),
    ("needs graphs", SettingsError, "graphs", lambda: design(utility="edges")),
    ("unknown values", SettingsError, "refined", lambda: design(values="nice")),
    ("unknown target of design", SettingsError, "'c'", lambda: design(targets=["c"])),
    ("bounds and levels", SettingsError, "both", lambda: design(bounds={"a": (0, 1)}, levels={"a": [0]})),
    ("bounds upside down", SettingsError, "a", lambda: design(bounds={"a": (2, 1)})),
    ("half of a bound", SettingsError, "bounds", lambda: design(bounds={"a": 3})),
    ("nothing can be set", SettingsError, "at least one target", lambda: design(forbidden=["a", "b"])),
    ("levels are no list", SettingsError, "levels", lambda: design(levels={"a": 3})),
    ("costs are no dict", SettingsError, "cost", lambda: design(cost=3)),
    ("targets are no list", SettingsError, "targets", lambda: design(targets=3)),
    ("goal is no text", SettingsError, "goal", lambda: design(goal=3)),
    ("pending is no list", SettingsError, "pending", lambda: design(pending=3)),
    ("negative cost", SettingsError, "cost", lambda: design(cost={"a": -1})),
    ("not a goal", SettingsError, "edge=A,B", lambda: design(goal="fame")),
    ("unknown name in goal", SettingsError, "c", lambda: design(goal="parents=c")),
    ("pending is no experiment", SettingsError, "pending", lambda: design(pending=[3])),
    ("score of an unknown variable", SettingsError, "c", lambda: seabed.score(fit(), [{"c": 1.0}])),
    # Worlds and graphs
    ("no variables", SettingsError, "nodes = 0", lambda: seabed.worlds.er(nodes=0)),
    ("unknown mechanism", SettingsError, "linear", lambda: seabed.worlds.er(mechanism="magic")),  # type: ignore[arg-type]
    ("no samples", SettingsError, "n = 0", lambda: seabed.worlds.er(nodes=3).sample(0)),
    ("do to an unknown variable", SettingsError, "Y", lambda: seabed.worlds.er(nodes=3).sample(1, {"Y": 1.0})),
    ("run a number", SettingsError, "no experiment", lambda: seabed.worlds.er(nodes=3).run([3])),
    ("run no list", SettingsError, "batch", lambda: seabed.worlds.er(nodes=3).run(3)),
    ("noise is no number", SettingsError, "noise_sd", lambda: seabed.worlds.er(noise_sd="loud")),  # type: ignore[arg-type]
    ("a factor below 0", WorldError, "factor", lambda: seabed.worlds.genes(5).sample(1, {"G1": -1.0})),
    ("truth with a cycle", DataError, "cycle", lambda: seabed.shd(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), np.zeros((3, 3)))),
    ("probabilities as a graph", DataError, "0 and 1", lambda: seabed.shd(np.zeros((2, 2)), np.full((2, 2), 0.3))),
    ("other variables in the truth", DataError, "other variables|expected", lambda: seabed.evaluate(fit(), seabed.worlds.er(nodes=3))),
    ("nothing to evaluate", SettingsError, "nothing", lambda: seabed.evaluate(None, np.zeros((2, 2)))),
    # Ask and tell
    ("ask before data", DataError, "tell", lambda: seabed.Experiment(["a", "b"]).ask()),
    ("other variables told", DataError, "missing: b", lambda: told().tell({"a": [1.0]})),
    ("a column of another name", DataError, "missing: b; not expected: B", lambda: told().tell({"a": [1.0], "B": [1.0]})),
    ("a variable that is a dict", SettingsError, "not a name", lambda: seabed.Experiment([{"name": "x", "bounds": [0, 1]}])),  # type: ignore[list-item]
    ("outcomes without a batch", SettingsError, "batch", lambda: told().tell(OK, OK)),
    ("too few outcomes", DataError, "2 outcomes", lambda: _tell(2, {"a": [1.0], "b": [1.0]})),
    ("not pending", SettingsError, "99", lambda: told().abandon([99])),
    ("not a saved experiment", SettingsError, "no saved", lambda: seabed.Experiment.from_json("{}")),
    ("half a saved experiment", SettingsError, "damaged", lambda: seabed.Experiment.from_json('{"seabed-experiment": 1}')),
    ("a saved list", SettingsError, "no saved", lambda: seabed.Experiment.from_json("[1]")),
    ("version in words", SettingsError, "version", lambda: seabed.Experiment.from_json('{"seabed-experiment": "x"}')),
    ("values in words", SettingsError, "'a'", lambda: seabed.Experiment({"a": ["x"]})),
    ("a range as a list", SettingsError, r"\(0, 10\).*'levels': \[0, 10\]", lambda: seabed.Experiment({"a": [0, 10]})),
    ("neither bounds nor levels", SettingsError, "'bounds'", lambda: seabed.Experiment({"a": {"range": (0, 1)}})),
    ("bounds are no dict", SettingsError, "bounds", lambda: seabed.Experiment(["a"], bounds=3)),  # type: ignore[arg-type]
    ("a range of one number", SettingsError, "value_range", lambda: seabed.Experiment(["a"], value_range=3)),  # type: ignore[arg-type]
    ("forbidden is no list", SettingsError, "forbidden", lambda: seabed.Experiment(["a"], forbidden=3)),  # type: ignore[arg-type]
    ("levels in words", SettingsError, "levels", lambda: seabed.Experiment(["a"], levels={"a": 3})),  # type: ignore[dict-item]
    ("no variables to set", SettingsError, "variables", lambda: seabed.Experiment({"a": 3, "b": None})),
    ("nothing to set", SettingsError, "at least one target", lambda: seabed.Experiment({"a": None, "b": None})),
    ("a name twice", SettingsError, "both called", lambda: seabed.Experiment(["a", "a"])),
    ("unknown posterior of an experiment", SettingsError, "did you mean", lambda: experiment(posterior="mcmc-liner")),
    ("unknown option of a posterior", SettingsError, "drawz", lambda: experiment(posterior_options={"drawz": 3})),
    ("draws of an experiment", SettingsError, "draws = 0", lambda: experiment(posterior_options={"draws": 0})),
    ("seed of an experiment", SettingsError, "seed", lambda: experiment(seed=-1)),
    ("threads of an experiment", SettingsError, "threads", lambda: experiment(threads=0)),
    ("progress of an experiment", SettingsError, "progress", lambda: experiment(progress="bar")),
    ("bounds of an experiment", SettingsError, "a", lambda: experiment(bounds={"a": (2, 1)})),
    ("strategy of an experiment", SettingsError, "greedy-cbed", lambda: experiment(strategy="best")),
    ("utility of an experiment", SettingsError, "edges", lambda: experiment(utility="fame")),
    ("graphs that a posterior does not give", SettingsError, "graphs", lambda: experiment(posterior="bootstrap", utility="edges")),
    ("values of an experiment", SettingsError, "refined", lambda: experiment(values="nice")),
    ("goal of an experiment", SettingsError, "c", lambda: experiment(goal="parents=c")),
    ("knowledge of an experiment", KnowledgeError, "c", lambda: experiment(knowledge={"required": [("a", "c")]})),
    ("targets at once", SettingsError, "at least one variable", lambda: experiment(max_targets=0)),
    ("cost of an experiment", SettingsError, "cost", lambda: experiment(cost={"a": -1})),
    # Laboratory and studies
    ("not a campaign", CampaignError, "campaign", lambda: (open("x.lab", "w").write("x"), seabed.Campaign("x.lab"))),
    ("nothing to make a campaign of", SettingsError, "variables", lambda: seabed.Campaign.new("x.lab")),
    ("bounds without a name", SettingsError, "bounds", lambda: seabed.Campaign.new("x.lab", variables={"a": (0, 1)})),  # type: ignore[dict-item]
    ("known rows", CampaignError, "only_new=True.*again=True", lambda: _lab().add({"a": [1.0, 9.0], "b": [2.0, 9.0]})),
    ("the same data", CampaignError, "again=True", lambda: _lab().add(OK)),
    ("a column of no variable", CampaignError, "ignore", lambda: _lab().record(pd.DataFrame({"a": [1.0], "c": [1.0]}))),
    ("a form as data", CampaignError, r"record\(\)", lambda: (open("f.csv", "w").write("a,b,status\n1,2,done\n"), _lab().add("f.csv"))),
    ("no data in a campaign", CampaignError, r"add\(\)", lambda: seabed.Campaign.new("z.lab", variables={"a": {"intervene": True, "bounds": (0, 1)}, "b": {}}).propose(1)),
    ("decimals of a file", DataError, 'decimal="comma"', lambda: (open("d.csv", "w").write("a;b\n1,234;2\n3,456;1\n"), seabed.Dataset.read("d.csv", separator="semicolon"))),
    ("no model", FileError, r"World.save\(\)", lambda: (open("m.json", "w").write("{}"), seabed.worlds.load("m.json"))),
    ("a list as a form", SettingsError, "DataFrame", lambda: seabed.Campaign.new("y.lab", data=OK).record([{}])),  # type: ignore[arg-type]
    ("unknown key of a study", SettingsError, "did you mean", lambda: seabed.Study({"world": {"node": 3}}, "s")),
    ("unknown preset", SettingsError, "paper-linear-20", lambda: seabed.Study.preset("x", "s")),
    ("no folder", SettingsError, "folder", lambda: seabed.Study({"rounds": 0})),
    ("not a study", StudyError, "study", lambda: seabed.Study(None, "nowhere")),
    ("not an executor", SettingsError, "executor", lambda: _study().run(executor=3)),
]


def experiment(**options: Any) -> seabed.Experiment:
    return seabed.Experiment(["a", "b"], **options)


def _lab() -> seabed.Campaign:
    return seabed.Campaign.new("k.lab", data=OK)


def _tell(n: int, outcomes: Any) -> None:
    experiment = told()
    experiment.tell(experiment.ask(n), outcomes)


def _study() -> seabed.Study:
    return seabed.Study({"rounds": 0, "world": {"nodes": 3}, "posterior": {"kind": "bootstrap"}}, "s")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("kind", "said", "call"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input(kind: type[SeabedError], said: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=said) as caught:
        call()
    assert str(caught.value) and not isinstance(caught.value, seabed.InternalError)
    assert "panick" not in str(caught.value)
    # What to do is said in the words of Python, not in those of the command.
    assert not re.search(r"(^|[\s`(])--[a-z]|`seabed |[a-z]-(per-node|targets|repeats|parents)", str(caught.value))


@pytest.mark.skipif(not (ROOT / "crates").is_dir(), reason="the sources are not here, so their messages are not looked at")
def test_messages_of_the_library_are_put_into_the_words_of_python() -> None:
    table = (ROOT / "python/rust/failure.rs").read_text()
    unknown: list[str] = []
    for crate in ("seabed", "seabed-lab", "seabed-study"):
        for place in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            if "tests" in place.relative_to(ROOT).parts:
                continue
            code = re.split(r"#\[cfg\(test\)\]\s*mod tests", place.read_text())[0]
            lines = [line for line in code.splitlines() if not line.lstrip().startswith("//")]
            # `--set` is of the command alone, which takes keys and values as text; pages are the same whoever writes them.
            words = re.findall(r"(?<![-\w])--[a-z][a-z-]*|`seabed [a-z]+[^`]*`", "\n".join(lines))
            unknown += [f"{place.name}: {word}" for word in words if word not in table and word != "--set" and place.name != "report.rs"]
    assert unknown == []


def test_there_are_at_least_fifty_cases() -> None:
    assert len(CASES) >= 50 and all(said for _, _, said, _ in CASES)


def test_classes_are_what_python_users_catch() -> None:
    assert issubclass(DataError, ValueError) and issubclass(SettingsError, ValueError)
    assert issubclass(FileError, OSError) and issubclass(KnowledgeError, SettingsError)
