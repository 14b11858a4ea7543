"""DataFrames with a type, because what pandas returns depends on overloads that checkers cannot always decide; names of columns."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["differences", "frame_of", "typed"]


def differences(missing: list[str], extra: list[str]) -> str:
    """Which names are missing, and which are there instead."""
    parts = [(missing, "missing"), (extra, "not expected")]
    return "; ".join(f"{what}: {', '.join(names)}" for names, what in parts if names)


def frame_of(data: Any, **options: Any) -> pd.DataFrame:
    """A DataFrame of these data."""
    return typed(pd.DataFrame(data, **options))


def typed(frame: Any) -> pd.DataFrame:
    """What is known to be a DataFrame."""
    found: pd.DataFrame = frame
    return found
