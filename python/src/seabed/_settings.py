"""Keyword arguments into the JSON that the extension takes; which posterior takes which."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ._seabed import posteriors as _posteriors
from .errors import KnowledgeError, SettingsError

__all__ = ["Knowledge", "as_json", "as_number", "as_pairs", "as_text", "knowledge_json", "posterior_json"]

#: Forbidden and required edges and tiers: a dict, or None.
Knowledge: TypeAlias = "Mapping[str, Any] | None"

_CHAINS = {"draws", "chains", "candidates", "max_parents", "sweeps", "edge_probabilities", "prior", "edges_per_node"}
_DIBS = {
    "particles",
    "steps",
    "all_steps",
    "mc_samples",
    "estimator",
    "noise",
    "weights",
    "walk",
    "prior",
    "edges_per_node",
    "standardise",
}
_BOOTSTRAP = {"draws", "penalty", "max_degree"}


def _plain(value: Any, key: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{key} = {value}: choose a finite number")
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise SettingsError(f"{key} = {value}: the number is too large")
    if isinstance(value, Mapping):
        return {str(k): _plain(v, f"{key}.{k}") for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item, key) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise SettingsError(f"{key} = {value!r}: a {type(value).__name__} is not what is expected here")


def as_number(value: Any, key: str) -> float:
    """A number, whatever kind of number it is."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{key} = {value!r}: give a number") from error


def as_pairs(settings: Any, key: str) -> list[tuple[str, float]]:
    """What is set to what, as pairs."""
    if not isinstance(settings, Mapping):
        raise SettingsError(f"{key}: {settings!r} is no experiment; write {{'A': 1.5}}")
    return [(str(name), as_number(value, f"{key}[{name!r}]")) for name, value in settings.items()]


def as_text(value: object, key: str) -> str | None:
    """A text, or None."""
    if value is not None and not isinstance(value, str):
        raise SettingsError(f"{key} = {value!r}: give a text")
    return value


def as_json(settings: Mapping[str, Any], *, dashes: bool = True) -> str:
    """The settings that are not None; ``_`` in names becomes ``-``."""
    given = {
        (key.replace("_", "-") if dashes else key): _plain(value, key)
        for key, value in settings.items()
        if value is not None
    }
    return json.dumps(given, allow_nan=False)


def posterior_json(posterior: str, options: Mapping[str, Any]) -> str:
    """The settings of a posterior; one that it does not take is refused, not ignored."""
    if not isinstance(posterior, str):
        raise SettingsError(f"posterior = {posterior!r}: give a name, one of {', '.join(n for n, _ in _posteriors())}")
    taken = _CHAINS if posterior.startswith("mcmc") else _BOOTSTRAP if posterior == "bootstrap" else _DIBS
    everything = _CHAINS | _DIBS | _BOOTSTRAP
    for key, value in options.items():
        if value is not None and key in everything - taken:
            raise SettingsError(f"{key} does not apply to posterior={posterior!r}; it takes {', '.join(sorted(taken))}")
    given = dict(options)
    pairs = given.get("edge_probabilities")
    if isinstance(pairs, Mapping):
        try:
            given["edge_probabilities"] = [[str(a), str(b), float(p)] for (a, b), p in pairs.items()]
        except (TypeError, ValueError) as error:
            raise SettingsError("edge_probabilities: write {('A', 'B'): 0.8, …}") from error
    return as_json(given)


def _edges(value: Any, key: str) -> list[list[str]]:
    listed: list[list[str]] = []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{key} = {value!r}: write [('A', 'B')] for A -> B")
    for edge in value:
        if isinstance(edge, str) or not isinstance(edge, Iterable):
            raise KnowledgeError(f"{key}: {edge!r} is no edge; write [('A', 'B')] for A -> B")
        pair = [str(name) for name in edge]
        if len(pair) != 2:
            raise KnowledgeError(f"{key}: {edge!r} is no edge; write [('A', 'B')] for A -> B")
        listed.append(pair)
    return listed


def _tiers(value: Any) -> list[list[str]]:
    listed = list(value) if isinstance(value, Iterable) else [value]
    if any(isinstance(tier, str) or not isinstance(tier, Iterable) for tier in listed):
        raise KnowledgeError(f"tiers = {value!r}: write [['A'], ['B', 'C']], the earliest first")
    return [[str(name) for name in tier] for tier in listed]


def knowledge_json(knowledge: Knowledge) -> str | None:
    """Background knowledge, by the names of the variables."""
    if knowledge is None:
        return None
    if not isinstance(knowledge, Mapping):
        raise KnowledgeError("knowledge: give a dict with the keys forbidden, required and tiers")
    unknown = [str(key) for key in knowledge if key not in ("forbidden", "required", "tiers")]
    if unknown:
        raise KnowledgeError(f"knowledge: unknown key {unknown[0]!r}; the keys are forbidden, required and tiers")
    tiers = _tiers(knowledge.get("tiers", []))
    form = {
        "forbidden": _edges(knowledge.get("forbidden", []), "forbidden"),
        "required": _edges(knowledge.get("required", []), "required"),
        "tiers": tiers,
    }
    return json.dumps(form)
