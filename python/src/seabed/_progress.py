"""How progress is shown: not at all, by tqdm, or by the user's own function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .errors import SettingsError

__all__ = ["Progress", "checked_progress", "checked_seed", "checked_threads", "shown"]

#: ``True`` for a bar by tqdm, or a function of pieces done, of all pieces, and of what is going on in words.
Progress: TypeAlias = "bool | Callable[[int, int, str], object] | None"


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[int, int, str], object] | None]:
    """The function that the extension calls."""
    checked_progress(progress)
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar() as bar:

            def advance(done: int, all_: int, what: str) -> None:
                bar.total = all_
                bar.set_description_str(what, refresh=False)
                bar.update(done - bar.n)

            yield advance
    else:
        yield progress


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm, or give a function") from error
    return tqdm(total=None, leave=False)


def checked_progress(progress: Any) -> Progress:
    """How progress is to be shown."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress  # type: ignore[no-any-return, unused-ignore]
    raise SettingsError(f"progress = {progress!r}: give True, False or a function of (done, all, what)")


def checked_seed(seed: Any) -> int:
    """A seed from 0 to 2**64 - 1."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise SettingsError(f"seed = {seed!r}: give a whole number from 0 on")
    number = int(seed.__index__())
    if not 0 <= number < 2**64:
        raise SettingsError(f"seed = {number}: choose a whole number from 0 to 2**64 - 1")
    return number


def checked_threads(threads: Any) -> int | None:
    """A number of threads from 1 on, or none given."""
    if threads is None:
        return None
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or int(threads.__index__()) < 1:
        raise SettingsError(f"threads = {threads!r}: give a whole number from 1 on, or None for all processors")
    return int(threads.__index__())
