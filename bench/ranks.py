#!/usr/bin/python3
"""Estimates how many ranks one writer can feed.

Runs a sweep of trivial cells over many ranks that share this machine's cores. From messages per
cell and the writer's share of the time the script computes the number of ranks at which the writing
rank is busy all the time, for cells of given length.

    bench/ranks.py POPFLOW [RANKS [CELLS]]
"""

import os
import subprocess
import sys
import tempfile
import time

import h5py

program = os.path.abspath(sys.argv[1])
ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 64
side = round((int(sys.argv[3]) if len(sys.argv) > 3 else 10**6) ** 0.5)

surroundings = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                "OMPI_MCA_mpi_yield_when_idle": "1"}
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "ranks.h5")
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), program, "sweep",
               "markov", "--over", f"e0=0.01:2:{side}", "--over", f"w0=-2:1:{side}", "--t-end", "1e-3",
               "--threads", "1", "--quiet", "-o", path]
    load = os.getloadavg()[0]
    begin = time.monotonic()
    before = os.times()
    subprocess.run(command, env=surroundings, check=True)
    after = os.times()
    elapsed = time.monotonic() - begin
    with h5py.File(path) as file:
        of = file["provenance"].attrs
        messages, writing, wall = (float(of[name]) for name in ("messages", "writing_time",
                                                                "wall_time"))
        if int(of["ranks"]) != ranks:
            sys.exit(f"{int(of['ranks'])} ranks took part, not {ranks}")
        size = os.path.getsize(path)

cells = side * side
processor = after.children_user + after.children_system - before.children_user \
    - before.children_system
print(" ".join(command[:-1]), "FILE")
print(f"cores {os.cpu_count()}, load before {load:.1f}")
print(f"cells                   {cells}")
print(f"wall time               {wall:.1f} s, with mpirun {elapsed:.1f} s")
print(f"processor time          {processor:.1f} s, {processor / cells * 1e6:.1f} us a cell")
print(f"messages of rank 0      {messages:.0f}, {messages / cells:.4f} a cell")
print(f"writing                 {writing:.2f} s, {writing / cells * 1e6:.2f} us a cell, "
      f"{writing / wall:.1%} of the time")
print(f"file                    {size / 1e6:.0f} MB, {size / cells:.0f} bytes a cell")
print("ranks that one writer feeds, one thread each, if writing is all it does:")
for length in (1e-4, 1e-3, 1e-2, 1e-1, 1):
    print(f"  cells of {length * 1e3:6g} ms  {length / (writing / cells):.0f}")
