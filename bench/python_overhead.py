"""What `seabed.fit` from a DataFrame costs over the command that reads Parquet: 1e6 rows of 50 variables, the cheapest fit there is.

    pip install ./python pyarrow && python bench/python_overhead.py target/release/seabed

CPU seconds of either way from the data to the result: in Python from an existing DataFrame, in the command from the file. Memory
is what the process grows by at most while the DataFrame becomes a Dataset, in sizes of its numbers: 1 is one copy.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import seabed

if len(sys.argv) != 2:
    sys.exit(__doc__)


def peak():
    """The most memory that this process had since it was last asked, in bytes."""
    with open("/proc/self/status") as status:
        most = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    return most


with tempfile.TemporaryDirectory() as folder:
    place = Path(folder) / "data.parquet"
    seabed.worlds.er(nodes=50, mechanism="linear", weights="uniform", noise_sd=1.0, seed=1).sample(1_000_000).write(place)
    frame = pd.read_parquet(place)
    peak()
    before = peak()
    data = seabed.Dataset(frame)
    print(f"memory: {(peak() - before) / (8 * frame.size):.2f} copies", flush=True)
    del data
    for _ in range(3):
        start = time.process_time()
        fit = seabed.fit(frame, "bootstrap", draws=2, seed=1)
        # The command makes the checks of the data against the models at once, Python when somebody looks.
        fit.checks  # noqa: B018
        ours = time.process_time() - start
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        belief = Path(folder) / "belief.npz"
        subprocess.run([sys.argv[1], "fit", place, "--posterior", "bootstrap", "--draws", "2", "--seed", "1", "--out", belief, "--force"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        theirs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert fit._belief.to_bytes(False) == belief.read_bytes()
        print(f"Python {ours:.2f} s, command {theirs:.2f} s: {100 * (ours / theirs - 1):+.1f} %", flush=True)
