"""`markov` (optimal bias) by diffsol's tsit45: a call for each flow, as pydiffsol has no batches.

Two processes share the flows, because pydiffsol keeps Python's lock while it integrates. The gradient is that
of markov_heyoka.py.
"""

import multiprocessing
import time

import numpy as np
import peer
import pydiffsol

PROCESSES = 2

# The inputs are the start and the sign of w0.
CODE = """
in_i {{ e0 = 1, w0 = 1, sign = 1 }}
u_i {{ e = e0, w = w0 }}
slope {{ e * e * (1 + 2 * sign * w * w) }}
b2 {{ exp(slope) }}
S {{ sqrt({D2!r} + {four!r} * b2) }}
change {{ {two!r} / (1 + S) }}
stay {{ {pi0!r} * ({D!r} + S) / (1 + S) }}
g {{ {stay2!r} * ({best!r} * b2 - 1) / (stay + {rest!r} + b2 * (change + {move!r})) }}
F_i {{ -2 * g * e * (1 + 2 * sign * w * w), -4 * g * e * e * sign * w }}
"""


def code(run):
    p, q = (float(run.parameter(name)) for name in "pq")
    pi0, pi1, D = q / (p + q), p / (p + q), (q - p) / (p + q)
    return CODE.format(D=D, D2=D * D, four=4 * pi0 * pi1, two=2 * pi0 * pi1, pi0=pi0, move=p * q / (p + q),
                       stay2=pi0 * (1 - p) * pi1 * (1 - q), best=p * q / ((1 - p) * (1 - q)), rest=pi1 * (1 - q))


def solver(run):
    made = pydiffsol.Ode(code(run), matrix_type=pydiffsol.nalgebra_dense, ode_solver=pydiffsol.tsit45)
    made.rtol, made.atol = run.parameter("rtol"), run.parameter("atol")
    return made


def serve_flows(run, starts, end):
    """Answers each request with the ends of all starts (flow, coordinate)."""
    solve, inputs = solver(run).solve, np.column_stack([starts, np.sign(starts[:, 1])])
    while end.recv():
        end.send(np.stack([solve(x, run.t_end).ys[:, -1] for x in inputs]))


def flows(checked, timed):
    begin = time.process_time()
    solver(timed)
    compiled = time.process_time() - begin
    e, w = np.meshgrid(timed.file["e0"][()], timed.file["w0"][()], indexing="ij")
    starts = np.stack([e.ravel(), w.ravel()], -1)
    fork, here = multiprocessing.get_context("fork"), []
    for part in range(PROCESSES):
        ours, theirs = fork.Pipe()
        fork.Process(target=serve_flows, args=(timed, starts[part::PROCESSES], theirs), daemon=True).start()
        here.append(ours)

    def work():
        for part in here:
            part.send(True)
        ends = np.empty_like(starts)
        for i, part in enumerate(here):
            ends[i::PROCESSES] = part.recv()
        return ends

    ends, agreement = work(), peer.Agreement()
    for i, name in enumerate("ew"):
        agreement.close(name, ends[:, i], checked.file[name][()].ravel(), starts[:, i])
    peer.serve(work, agreement, ("pydiffsol",), compiled=compiled)


peer.main({"flows": flows})
