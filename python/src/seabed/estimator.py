"""For those who think in estimators: :class:`PosteriorGraphs`, in the manner of scikit-learn, which it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .data import TARGETS_COLUMN, Dataset
from .posterior import Fit, fit

__all__ = ["PosteriorGraphs"]


class PosteriorGraphs(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A posterior over causal graphs as an estimator of scikit-learn.

    Parameters
    ----------
    posterior : str
        As for :func:`seabed.fit`.
    draws : int, optional
        Draws from the posterior.
    knowledge : dict, optional
        Background knowledge, as for :func:`seabed.fit`.
    options : dict, optional
        Further arguments of :func:`seabed.fit`.
    random_state : int
        The seed.
    n_jobs : int, optional
        Number of threads; all processors by default, and with -1.

    Attributes
    ----------
    edge_probabilities_ : ndarray of shape (n_features, n_features)
        The probability of every edge, row -> column.
    graphs_ : ndarray of shape (draws, n_features, n_features)
        The graphs of all draws.
    weights_ : ndarray of shape (draws,)
        The weights of the draws.
    posterior_ : Fit
        All of what was learned.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, if X has names.

    Examples
    --------
    >>> import seabed
    >>> X = seabed.worlds.er(nodes=3, mechanism="linear", seed=1).sample(50).values
    >>> seabed.PosteriorGraphs(posterior="mcmc-linear", draws=20).fit(X).edge_probabilities_.shape
    (3, 3)
    """

    def __init__(
        self,
        posterior: str = "mcmc-gp",
        *,
        draws: int | None = None,
        knowledge: Any = None,
        options: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.posterior = posterior
        self.draws = draws
        self.knowledge = knowledge
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, interventions: Any = None) -> PosteriorGraphs:
        """Learns from samples.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            At least 4 samples. A DataFrame may have the column ``intervention_targets``.
        y : ignored
            For pipelines.
        interventions : optional
            Who was set in which row, as for :class:`seabed.Dataset`.

        Returns
        -------
        PosteriorGraphs
            Itself.
        """
        if interventions is None and hasattr(X, "columns") and TARGETS_COLUMN in X.columns:
            table = Dataset(X)
            X, interventions = table.to_pandas()[table.names], table.mask
        values = validate_data(self, X, dtype=np.float64, ensure_min_samples=4)
        names = getattr(self, "feature_names_in_", None)
        data = Dataset(values, names=None if names is None else list(names), interventions=interventions)
        seed = 0 if self.random_state is None else self.random_state
        learned = fit(
            data,
            self.posterior,
            draws=self.draws,
            knowledge=self.knowledge,
            seed=seed,
            threads=None if self.n_jobs == -1 else self.n_jobs,
            **(self.options or {}),
        )
        self.posterior_: Fit = learned
        self.edge_probabilities_: npt.NDArray[np.float64] = learned.edge_probabilities.to_numpy()
        self.graphs_: npt.NDArray[np.bool_] = learned.graphs
        self.weights_: npt.NDArray[np.float64] = learned.weights
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-density of a row under the posterior, in nats: how well other data are predicted.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Observations.
        y : ignored
            For pipelines.
        """
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        data = Dataset(values, names=self.posterior_.names)
        return self.posterior_._belief.held_out_log_likelihood(data._table)
