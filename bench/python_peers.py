"""The same closed loop in Python three times: with seabed, with dibs-lib and with gies, whose users choose experiments by hand.

Ten variables, 100 observations, five rounds of five experiments: seconds, lines of user code, and how good the answer is.

    pip install ./python dibs-lib gies && python bench/python_peers.py [FIRST_SEED COUNT]

A loop is given ``measure``, which makes an experiment, and returns the probability of every edge. Its lines are those of its
function without blank ones, comments and its documentation. Neither dibs-lib nor gies chooses experiments: what is
written here is what a careful user would write in an afternoon, not the best that could be done.
"""

import inspect
import sys
import time

import numpy as np

import seabed

NODES, OBSERVATIONS, ROUNDS, BATCH = 10, 100, 5, 5


def with_seabed(names, observations, measure, seed):
    """Ask and tell."""
    experiment = seabed.Experiment(names, posterior="mcmc-linear", seed=seed)
    experiment.tell(observations, interventions=None)
    for _ in range(ROUNDS):
        batch = experiment.ask(BATCH)
        experiment.tell(batch, [measure(trial.targets) for trial in batch])
    return experiment.fit().edge_probabilities.to_numpy()


def with_dibs(names, observations, measure, seed):
    """Particles by dibs-lib; experiments where the particles' predictions differ most."""
    import jax
    from dibs.inference import JointDiBS
    from dibs.models import ErdosReniDAGDistribution, LinearGaussian

    size = len(names)
    rows = [np.array([row[name] for name in names]) for row in observations]
    masks = [np.zeros(size, dtype=bool) for _ in rows]

    def particles(key):
        data = np.array(rows)
        spread = data.std(axis=0)
        model = LinearGaussian(n_vars=size, obs_noise=0.1)
        graph = ErdosReniDAGDistribution(n_vars=size, n_edges_per_node=1)
        x = jax.numpy.array((data - data.mean(axis=0)) / spread)
        mask = jax.numpy.array(np.array(masks).astype(int))
        dibs = JointDiBS(x=x, interv_mask=mask, graph_model=graph, likelihood_model=model)
        graphs, weights = dibs.sample(key=key, n_particles=20, steps=1000)
        acyclic = [k for k, g in enumerate(np.array(graphs)) if np.trace(np.linalg.matrix_power(np.eye(size) + g, size)) == size]
        graphs, weights = np.array(graphs), np.array(weights)
        return (graphs[acyclic], weights[acyclic] * graphs[acyclic], spread) if acyclic else (graphs, weights * graphs, spread)

    key = jax.random.PRNGKey(seed)
    for _ in range(ROUNDS):
        key, now = jax.random.split(key)
        _, weights, spread = particles(now)
        worth = np.zeros(size)
        for target in range(size):
            effects = []
            for weight in weights:
                cut = weight.copy()
                cut[:, target] = 0
                effects.append(np.linalg.inv(np.eye(size) - cut + 1e-9 * np.eye(size))[target])
            worth[target] = np.var(effects, axis=0).sum()
        for target in np.argsort(-worth)[:BATCH]:
            outcome = measure({names[target]: 2 * spread[target]})
            rows.append(np.array([outcome[name] for name in names]))
            masks.append(np.arange(size) == target)
    key, now = jax.random.split(key)
    return particles(now)[0].mean(axis=0)


def with_gies(names, observations, measure, seed):
    """Classes of resampled data by gies; experiments on the variables whose edges are most uncertain."""
    import gies

    size, draws = len(names), np.random.default_rng(seed)
    regimes = {(): [[row[name] for name in names] for row in observations]}

    def probabilities():
        total, count = np.zeros((size, size)), 20
        for _ in range(count):
            data = [np.array(rows)[draws.integers(len(rows), size=len(rows))] for rows in regimes.values()]
            found, _ = gies.fit_bic(data, [list(targets) for targets in regimes])
            undirected = (found != 0) & (found.T != 0)
            total += np.where(undirected, 0.5, found != 0)
        return total / count

    for _ in range(ROUNDS):
        edges = np.clip(probabilities(), 1e-9, 1 - 1e-9)
        entropy = -(edges * np.log(edges) + (1 - edges) * np.log(1 - edges))
        spread = np.array(regimes[()]).std(axis=0)
        for target in np.argsort(-(entropy.sum(axis=0) + entropy.sum(axis=1)))[:BATCH]:
            outcome = measure({names[target]: 2 * spread[target]})
            regimes.setdefault((int(target),), []).append([outcome[name] for name in names])
    return probabilities()


def lines_of(function):
    source = inspect.getsource(function).split('"""')[2]
    return 1 + sum(1 for line in source.splitlines() if line.strip() and not line.strip().startswith("#"))


def compare(loop, seed):
    world = seabed.worlds.er(nodes=NODES, mechanism="linear", weights="uniform", noise_sd=1.0, seed=seed)
    calls = 0

    def measure(setting):
        nonlocal calls
        calls += 1
        return dict(zip(world.names, world.sample(1, setting, seed=10_000 * (seed + 1) + calls).values[0].tolist()))

    seen = world.sample(OBSERVATIONS, seed=seed).to_pandas()[world.names].to_dict("records")
    start, cpu = time.perf_counter(), time.process_time()
    found = loop(world.names, seen, measure, seed)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert calls == ROUNDS * BATCH
    truth = world.graph.to_numpy()
    off = ~np.eye(NODES, dtype=bool)
    return seconds, cpu, np.abs(found - truth)[off].sum()


if __name__ == "__main__":
    first, count = (int(number) for number in (sys.argv[1:] or ["1000", "3"]))
    print(f"worlds {first} to {first + count - 1}: {NODES} variables, {OBSERVATIONS} observations, {ROUNDS} rounds of {BATCH}")
    print("loop       seconds  CPU seconds  lines  expected wrong entries of the graph")
    for name, loop in (("seabed", with_seabed), ("dibs-lib", with_dibs), ("gies", with_gies)):
        found = np.array([compare(loop, seed) for seed in range(first, first + count)])
        seconds, cpu, wrong = found.mean(axis=0)
        print(f"{name:<9} {seconds:>8.1f}  {cpu:>11.1f}  {lines_of(loop):>5}  {wrong:.1f}", flush=True)
