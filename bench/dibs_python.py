"""CPU ms per step and peak MB of the Python package `dibs-lib` on one of our tables: python dibs_python.py data.csv"""

import csv
import resource
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from dibs.inference import JointDiBS
from dibs.models import DenseNonlinearGaussian
from dibs.models import ErdosReniDAGDistribution

with open(sys.argv[1], newline="") as file:
    header, *rows = csv.reader(file)
p = len(header) - (header[-1] == "intervention_targets")
x = jnp.array(np.array([row[:p] for row in rows], dtype=float))
graph = ErdosReniDAGDistribution(n_vars=p, n_edges_per_node=1)
# Its noise is a variance.
model = DenseNonlinearGaussian(n_vars=p, hidden_layers=(5,), obs_noise=0.01, sig_param=1.0)
dibs = JointDiBS(x=x, interv_mask=None, graph_model=graph, likelihood_model=model)
marks = {}


def note(dibs, t, zs, **others):
    jax.block_until_ready(zs)
    marks[t] = time.process_time()


# `callback_every` compiles its loop for that many steps; the first stretch pays for the compilation.
stretch = 10
dibs.sample(key=jax.random.PRNGKey(0), n_particles=20, steps=2 * stretch, callback_every=stretch, callback=note)
times = sorted(marks)
ms = (marks[times[-1]] - marks[times[-2]]) / (times[-1] - times[-2]) * 1e3
print(ms, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
