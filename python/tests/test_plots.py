"""Figures: matplotlib axes that people can go on with, and SVG without matplotlib."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import numpy as np
import pytest

import seabed

from .test_study import small

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed, so nothing is tested with it")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402


@pytest.fixture(autouse=True)
def _close() -> object:
    yield
    pyplot.close("all")


def test_a_fit_is_drawn(fit: seabed.Fit, world: seabed.World) -> None:
    ax = fit.plot()
    assert isinstance(ax, Axes) and [label.get_text() for label in ax.get_xticklabels()] == fit.names
    marked = fit.plot(truth=world)
    assert len(marked.patches) == int(world.graph.to_numpy().sum())
    _, mine = pyplot.subplots()
    assert fit.plot("graph", truth=world, ax=mine) is mine
    assert {text.get_text() for text in mine.texts} >= set(fit.names)
    mine.figure.savefig("graph.png")


def test_a_batch_is_drawn(fit: seabed.Fit) -> None:
    batch = seabed.design(fit, 3, samples=20)
    ax = batch.plot()
    legend = ax.get_legend()
    assert legend is not None and {text.get_text() for text in legend.get_texts()} <= set(fit.names)
    assert batch.unit in ax.get_ylabel()
    # Chosen values are circled on the curve of their target.
    curves = {str(line.get_label()): line.get_xydata() for line in ax.lines}
    circles = {name: marks.get_offsets() for name, marks in zip(curves, ax.collections, strict=True)}
    assert sum(len(points) for points in circles.values()) == len(batch)
    for trial in batch:
        ((name, value),) = trial.targets.items()
        x, y = curves[name].T
        assert any(at == value and height == np.interp(value, x, y) for at, height in circles[name])


def test_a_study_is_drawn() -> None:
    study = seabed.Study(small(), "study")
    study.run()
    ax = study.plot()
    legend = ax.get_legend()
    assert legend is not None and {text.get_text() for text in legend.get_texts()} == {"random", "greedy-cbed"}
    assert study.plot("auroc").get_ylabel() == "area under the ROC curve"
    with pytest.raises(seabed.SettingsError, match="eshd"):
        study.plot("fame")
    figures = study.svg()
    assert figures and all(xml.fromstring(svg).tag.endswith("svg") for svg in figures.values())
    assert study.report("report.html").startswith("<!") and "greedy-cbed" in study.summary()


def test_figures_without_matplotlib(fit: seabed.Fit, world: seabed.World) -> None:
    assert set(fit.svg()) == {"graph", "matrix"} and set(fit.svg(truth=world)) == {"graph", "matrix", "truth"}
    batch = seabed.design(fit, 2, samples=20)
    for svg in [*fit.svg(truth=world).values(), *batch.svg().values()]:
        assert xml.fromstring(svg).tag.endswith("svg")
    assert set(batch.svg()) == {"information"}
