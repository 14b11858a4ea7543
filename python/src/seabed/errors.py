"""What can go wrong: every exception of this package is a :class:`SeabedError`, every warning a :class:`SeabedWarning`."""

from __future__ import annotations

__all__ = [
    "CampaignError",
    "DataError",
    "FileError",
    "InternalError",
    "KnowledgeError",
    "SeabedError",
    "SeabedWarning",
    "SettingsError",
    "Stopped",
    "StudyError",
    "WorldError",
]


class SeabedError(Exception):
    """The base of all exceptions of this package.

    Examples
    --------
    >>> import seabed
    >>> try:
    ...     seabed.Dataset([{"a": 1.0, "b": "high"}])
    ... except seabed.SeabedError as error:
    ...     print(type(error).__name__)
    DataError
    """


class SeabedWarning(UserWarning):
    """Something to know about the data, a fit, or what was told, that does not stop the work."""


class DataError(SeabedError, ValueError):
    """Data that cannot be used: a text among numbers, a target that is no variable, too few rows."""


class SettingsError(SeabedError, ValueError):
    """An argument outside its range, an unknown name, or arguments that do not go together."""


class KnowledgeError(SettingsError):
    """Background knowledge that contradicts itself or names no variable."""


class WorldError(SeabedError, ValueError):
    """An experiment that a simulated world cannot answer."""


class FileError(SeabedError, OSError):
    """A file that cannot be read or written, or that holds something else."""


class CampaignError(SeabedError, ValueError):
    """Something that the file of a laboratory's campaign refuses."""


class StudyError(SeabedError, RuntimeError):
    """A study that cannot go on; what is finished stays finished."""


class Stopped(SeabedError, RuntimeError):
    """The work was asked to stop before it had finished."""


class InternalError(SeabedError, RuntimeError):
    """A defect of seabed, whatever the input: please report it."""
