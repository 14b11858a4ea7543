"""Figures in the report's look: by matplotlib, which is optional, or as SVG documents without it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from . import _seabed
from .errors import SettingsError
from .graphs import as_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .design import Batch
    from .posterior import Fit
    from .study import Study

__all__ = ["batch_svg", "fit_svg", "plot_batch", "plot_fit", "plot_study"]

# The report's colours: eight that colour-blind people can tell apart, and the baseline's grey.
_LINES = ["#0072b2", "#d55e00", "#00845f", "#b84b86", "#a86f00", "#6a51c9", "#1e8fb5", "#7a5a3a"]
_DASHES: list[Any] = ["-", (0, (7, 3)), (0, (2, 3))]
_MARKERS = ["o", "s", "^", "D"]
_INK, _SOFT, _GRID, _BASE, _HEAT, _TRUE, _NODE = (
    "#1b2530",
    "#52606d",
    "#e7ebef",
    "#5f6b76",
    "#5fb0e5",
    "#d55e00",
    "#eef3f8",
)

#: Titles of axes of a study's metrics.
_METRICS = {
    "eshd": "expected structural Hamming distance",
    "esid": "expected structural intervention distance",
    "auroc": "area under the ROC curve",
    "auprc": "average precision",
    "ef1": "expected F1",
    "brier": "Brier score of the edges",
    "ece": "calibration error of the edges",
    "edge_loss": "squared error of the edge probabilities",
    "truth_mass": "probability of the true graph",
    "edge_entropy": "entropy of the edges [nats]",
    "batch_information": "expected information of the batch",
}


def _axes(ax: Axes | None) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'seabed-cbed[plot]'; .svg() needs nothing") from error
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_SOFT)
    ax.tick_params(colors=_SOFT)
    return ax


def plot_fit(fit: Fit, kind: str, truth: Any, ax: Axes | None) -> Axes:
    """Edge probabilities as a matrix, or the probable edges as a graph."""
    if kind not in ("matrix", "graph"):
        raise SettingsError(f"kind = {kind!r}: choose matrix or graph")
    names = fit.names
    true = None if truth is None else as_frame(truth, names, "the truth").to_numpy()
    ax = _axes(ax)
    return _matrix(fit, true, ax) if kind == "matrix" else _graph(fit, true, ax)


def _matrix(fit: Fit, true: Any, ax: Axes) -> Axes:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    names, values = fit.names, fit.edge_probabilities.to_numpy()
    shades = LinearSegmentedColormap.from_list("seabed", ["#f6f8fa", _HEAT])
    ax.imshow(values, cmap=shades, vmin=0, vmax=1)
    ax.set_xticks(range(len(names)), names, rotation=90 if len(names) > 6 else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("effect", color=_INK)
    ax.set_ylabel("cause", color=_INK)
    ax.set_title("Probability of the edges", color=_INK, fontsize=11, fontweight="semibold")
    if len(names) <= 20:
        for i, j in np.argwhere(values >= 0.005):
            ax.text(j, i, f"{values[i, j]:.2f}".lstrip("0"), ha="center", va="center", fontsize=8, color=_INK)
    if true is not None:
        for i, j in np.argwhere(true):
            ax.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor=_TRUE, linewidth=1.8))
    return ax


def _graph(fit: Fit, true: Any, ax: Axes) -> Axes:
    names, values = fit.names, fit.edge_probabilities.to_numpy()
    size = len(names)
    angles = [math.pi / 2 - 2 * math.pi * k / size for k in range(size)]
    places = [(math.cos(angle), math.sin(angle)) for angle in angles]
    radius = min(0.22, 1.6 / max(size, 1))
    for i, j in np.argwhere(values > 0.1):
        wrong = true is not None and not true[i, j]
        colour = _LINES[1] if wrong else _LINES[0] if true is not None else _INK
        ax.annotate(
            "",
            xy=places[j],
            xytext=places[i],
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "alpha": float(values[i, j]),
                "linewidth": 0.5 + 2 * float(values[i, j]),
                "shrinkA": 60 * radius,
                "shrinkB": 60 * radius,
                "connectionstyle": "arc3,rad=0.08",
            },
        )
    for name, (x, y) in zip(names, places, strict=True):
        box = {"boxstyle": "round,pad=0.35", "facecolor": _NODE, "edgecolor": _SOFT}
        ax.text(x, y, name, ha="center", va="center", color=_INK, bbox=box)
    ax.set_xlim(-1.3, 1.3)
    ax.set_ylim(-1.3, 1.3)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title("Edges by their probability", color=_INK, fontsize=11, fontweight="semibold")
    return ax


def _curves(batch: Batch) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for targets, information in zip(batch.evaluated["targets"], batch.evaluated["information"], strict=True):
        if len(targets) == 1:
            ((name, value),) = targets.items()
            found.setdefault(str(name), []).append((float(value), float(information)))
    return {name: sorted(points) for name, points in sorted(found.items())}


def plot_batch(batch: Batch, ax: Axes | None) -> Axes:
    """What values of each target are worth, with what was chosen."""
    ax = _axes(ax)
    for k, (name, points) in enumerate(_curves(batch).items()):
        colour = _LINES[k % 8]
        style = {"color": colour, "linestyle": _DASHES[k % 3], "marker": _MARKERS[k % 4], "markersize": 4}
        ax.plot([x for x, _ in points], [y for _, y in points], label=name, **style)
        # On the curve: a trial's own number is another estimate, of all its rows, and would lie beside it.
        chosen = [trial.targets[name] for trial in batch.trials if list(trial.targets) == [name]]
        ax.scatter(
            chosen,
            np.interp(chosen, [x for x, _ in points], [y for _, y in points]),
            s=110,
            facecolors="none",
            edgecolors=colour,
            linewidths=1.6,
        )
    ax.set_xlabel("value that the target is set to", color=_INK)
    ax.set_ylabel(f"information [{batch.unit}]", color=_INK)
    ax.set_title("What a row is worth on its own; chosen values are circled", color=_INK, fontsize=11, fontweight="semibold")
    ax.grid(color=_GRID)
    ax.set_axisbelow(True)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize=8)
    return ax


def plot_study(study: Study, metric: str, setting: str | None, ax: Axes | None) -> Axes:
    """A metric against the number of experiments: mean and standard error over seeds, one line per strategy."""
    results = study.results
    known = [name for name in results.columns if name in _METRICS]
    if metric not in known:
        raise SettingsError(f"metric = {metric!r}: the metrics are {', '.join(known)}")
    settings = list(dict.fromkeys(results["setting"]))
    shown = settings[0] if setting is None else setting
    if shown not in settings:
        raise SettingsError(f"setting = {setting!r}: the settings are {'; '.join(settings)}")
    ax = _axes(ax)
    rows: pd.DataFrame = results[results["setting"] == shown]
    lines = list(dict.fromkeys(rows["line"]))
    k = 0
    for line in lines:
        of_line = rows[rows["line"] == line].dropna(subset=[metric])
        by_count = of_line.groupby("experiments")[metric].agg(["mean", "sem"])
        x, mean, error = by_count.index.to_numpy(), by_count["mean"].to_numpy(), by_count["sem"].fillna(0.0).to_numpy()
        style: dict[str, Any] = {"color": _LINES[k % 8], "linestyle": _DASHES[k % 3], "marker": _MARKERS[k % 4]}
        if line.startswith("random"):
            style = {"color": _BASE, "linestyle": (0, (5, 2, 1, 2)), "marker": "x"}
        else:
            k += 1
        ax.plot(x, mean, label=line, markersize=5, **style)
        ax.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.2, linewidth=0)
    ax.set_xlabel("experiments", color=_INK)
    ax.set_ylabel(_METRICS[metric], color=_INK)
    ax.set_title(shown, color=_INK, fontsize=11, fontweight="semibold")
    ax.grid(color=_GRID)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=8)
    return ax


def fit_svg(fit: Fit, truth: Any) -> dict[str, str]:
    """The report's figures of the edges: graph, matrix and, if the truth is known, the true graph."""
    true = None if truth is None else as_frame(truth, fit.names, "the truth").to_numpy().tolist()
    found = dict(_seabed.figures(fit.names, fit.edge_probabilities.to_numpy().tolist(), true, [], []))
    names = {"run-belief": "graph", "run-edge-probabilities": "matrix", "run-truth": "truth"}
    return {names[stem]: svg for stem, svg in found.items() if stem in names}


def batch_svg(batch: Batch) -> dict[str, str]:
    """The report's figure of what values of targets are worth."""
    curves = list(_curves(batch).items())
    found = dict(_seabed.figures(batch.names, [], None, [], curves))
    return {"information": found["run-information"]} if "run-information" in found else {}
