"""In the manner of scikit-learn: its own checks of estimators, as far as they apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import seabed

pytest.importorskip("sklearn", reason="scikit-learn is not installed, so nothing is tested with it")

from sklearn.base import clone  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


@parametrize_with_checks([seabed.PosteriorGraphs(posterior="mcmc-linear", draws=10, n_jobs=1)])
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_what_it_learned(world: seabed.World, data: seabed.Dataset) -> None:
    model = seabed.PosteriorGraphs("mcmc-linear", draws=30, random_state=4, options={"chains": 2})
    model.fit(data.to_pandas())
    same = seabed.fit(data, "mcmc-linear", draws=30, chains=2, seed=4)
    np.testing.assert_array_equal(model.edge_probabilities_, same.edge_probabilities)
    assert model.graphs_.shape == (len(model.weights_), 4, 4) and list(model.feature_names_in_) == world.names
    assert model.score(world.sample(20, seed=8).to_pandas()[world.names]) > model.score(10 * world.sample(20).to_pandas()[world.names])
    everything = clone(model).set_params(n_jobs=-1).fit(data.to_pandas())
    np.testing.assert_array_equal(everything.edge_probabilities_, model.edge_probabilities_)
    masked = clone(model).fit(data.values, interventions=data.mask)
    np.testing.assert_array_equal(masked.edge_probabilities_, model.edge_probabilities_)
