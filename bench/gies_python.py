"""CPU seconds and adjacency matrix of the Python package `gies` on one of our tables: python gies_python.py data.csv"""

import csv
import sys
import time

import gies
import numpy as np

with open(sys.argv[1], newline="") as file:
    header, *rows = csv.reader(file)
p = len(header) - (header[-1] == "intervention_targets")
targets = [row[p] if len(row) > p else "" for row in rows]
kinds = sorted(set(targets), key=lambda target: (target != "", header.index(target) if target else -1))
interventions = [[header.index(kind)] if kind else [] for kind in kinds]
data = [np.array([row[:p] for row, target in zip(rows, targets) if target == kind], dtype=float) for kind in kinds]
start = time.process_time()
estimate, _ = gies.fit_bic(data, interventions)
seconds = time.process_time() - start
print(seconds, "".join("1" if edge else "0" for edge in (estimate != 0).flatten()))
