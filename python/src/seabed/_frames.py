"""DataFrames with a type: what pandas returns depends on overloads that checkers cannot always decide."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["frame_of", "typed"]


def frame_of(data: Any, **options: Any) -> pd.DataFrame:
    """A DataFrame of these data."""
    return typed(pd.DataFrame(data, **options))


def typed(frame: Any) -> pd.DataFrame:
    """What is known to be a DataFrame."""
    found: pd.DataFrame = frame
    return found
