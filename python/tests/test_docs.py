"""Documentation that is run: every example, the guide, the README, the notebook."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import seabed

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["seabed", *(f"seabed.{module.name}" for module in pkgutil.iter_modules(seabed.__path__) if module.name != "_seabed")]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_examples(name: str) -> None:
    needed = {"seabed.estimator": "sklearn", "seabed.plots": "matplotlib"}.get(name)
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed, so its examples are not tested")
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def public() -> list[tuple[str, object]]:
    named = [(name, getattr(seabed, name)) for name in seabed.__all__]
    named += [(f"worlds.{name}", getattr(seabed.worlds, name)) for name in seabed.worlds.__all__]
    return [(name, what) for name, what in named if inspect.isfunction(what) or inspect.isclass(what)]


@pytest.mark.parametrize(("name", "what"), public(), ids=[name for name, _ in public()])
def test_everything_public_is_documented(name: str, what: object) -> None:
    text = inspect.getdoc(what) or ""
    assert text, f"{name} has no documentation"
    if inspect.isclass(what) and issubclass(what, Exception):
        return
    assert "Examples\n---" in text, f"{name} has no example"
    if inspect.isfunction(what):
        assert "Parameters\n---" in text and all(p in text for p in inspect.signature(what).parameters if p != "options")
    for member, function in inspect.getmembers(what, inspect.isfunction):
        if not member.startswith("_"):
            assert inspect.getdoc(function), f"{name}.{member} has no documentation"


@pytest.mark.parametrize(
    ("kind", "methods"),
    [
        (seabed.Dataset, "read write to_pandas dropna append"),
        (seabed.Fit, "to_networkx effects save load plot svg"),
        (seabed.Ensemble, "model predict"),
        (seabed.Batch, "to_pandas plot"),
        (seabed.Experiment, "ask tell abandon fit from_json load"),
        (seabed.Campaign, "new add propose form record amend undo status"),
        (seabed.World, "sample run"),
    ],
)
def test_the_main_methods_have_examples(kind: type, methods: str) -> None:
    lacking = [name for name in methods.split() if "Examples\n---" not in (inspect.getdoc(getattr(kind, name)) or "")]
    assert lacking == []


@pytest.mark.parametrize("place", ["docs/guide/python.md", "python/README.md"])
def test_the_guide_runs_from_top_to_bottom(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / place).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(compile(block, place, "exec"), names)
    assert blocks and capsys.readouterr().out


def test_the_notebook_runs(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed, so nothing is tested with it")
    pytest.importorskip("nbclient", reason="nbclient is not installed, so nothing is tested with it")
    from nbclient import NotebookClient

    place = ROOT / "python/docs/tutorial.ipynb"
    notebook = nbformat.read(place, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    done = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert any("image/png" in output.get("data", {}) for output in shown)
