"""Which experiment to run next to find out what causes what.

From a table to a batch: :class:`Dataset` -> :func:`fit` -> :func:`design`; or as a loop of ask and tell,
:class:`Experiment`. :class:`Campaign` is the laboratory's file, :class:`Study` many loops against simulated worlds.

Examples
--------
>>> import seabed
>>> world = seabed.worlds.er(nodes=4, mechanism="linear", seed=1)
>>> learned = seabed.fit(world.sample(100), "mcmc-linear", draws=50)
>>> batch = seabed.design(learned, batch=3)
>>> len(world.run(batch))
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, worlds
from ._seabed import __version__
from .campaign import Campaign
from .data import TARGETS_COLUMN, Dataset
from .design import Batch, Trial, design, score
from .errors import (
    CampaignError,
    DataError,
    FileError,
    InternalError,
    KnowledgeError,
    SeabedError,
    SeabedWarning,
    SettingsError,
    Stopped,
    StudyError,
    WorldError,
)
from .evaluation import evaluate, simulate
from .experiment import Experiment
from .graphs import shd, shd_double, sid, to_networkx
from .posterior import Ensemble, Fit, fit
from .study import Study
from .worlds import World

if TYPE_CHECKING:
    from . import ray
    from .estimator import PosteriorGraphs

__all__ = [
    "TARGETS_COLUMN",
    "Batch",
    "Campaign",
    "CampaignError",
    "DataError",
    "Dataset",
    "Ensemble",
    "Experiment",
    "FileError",
    "Fit",
    "InternalError",
    "KnowledgeError",
    "PosteriorGraphs",
    "SeabedError",
    "SeabedWarning",
    "SettingsError",
    "Stopped",
    "Study",
    "StudyError",
    "Trial",
    "World",
    "WorldError",
    "__version__",
    "design",
    "errors",
    "evaluate",
    "fit",
    "ray",
    "score",
    "shd",
    "shd_double",
    "sid",
    "simulate",
    "to_networkx",
    "worlds",
]


def __getattr__(name: str) -> Any:
    # These need packages that are optional.
    if name == "PosteriorGraphs":
        from .estimator import PosteriorGraphs

        return PosteriorGraphs
    if name == "ray":
        import importlib

        return importlib.import_module("seabed.ray")
    raise AttributeError(f"module 'seabed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
