"""Common parts of the peers in heyoka: many flows by Taylor's method, in batches of SIMD lanes on two threads."""

import concurrent.futures
import itertools
import time

import heyoka
import numpy as np
import peer

heyoka.llvm_state.set_diskcache_enabled(False)  # so that each process compiles

BATCH = 16  # 8 to 32 are alike; Python calls heyoka once for each batch
THREADS = 2
COMPACT = 4  # with more numbers heyoka's compact mode is as fast, and compiles 9 to 30 times faster


def grid(run, *names):
    """Returns the values of a sweep's axes in all cells (cell, axis)."""
    axes = np.meshgrid(*(run.file[name][()] for name in names), indexing="ij")
    return np.stack(axes, -1).reshape(-1, len(names)).astype(float)


def flows(run, equations, starts, constants, curve=None):
    """Returns a function that integrates all flows, and the processor seconds of compiling the integrator.

    `equations` are pairs of a variable and its velocity; `starts` (flow, variable); `constants` (flow, number)
    are heyoka's par[0], par[1], ... of each flow. The function returns the ends (flow, variable), or, with a
    `curve`, a function of all variables, its values (flow, record) at popflow's records.
    """
    assert len(starts) % BATCH == 0
    begin = time.process_time()
    compiled = heyoka.taylor_adaptive_batch(
        equations, state=np.ones((starts.shape[1], BATCH)), pars=np.ones((constants.shape[1], BATCH)),
        tol=run.parameter("rtol"), compact_mode=starts.shape[1] > COMPACT)
    seconds = time.process_time() - begin
    times = np.repeat(run.times()[:, None], BATCH, 1) if curve else None

    def some(taylor, first):
        """Integrates every THREADS-th batch of flows, from the given one on."""
        for i in range(first * BATCH, len(starts), THREADS * BATCH):
            taylor.set_time(0.0)
            taylor.state[:] = starts[i:i + BATCH].T
            taylor.pars[:] = constants[i:i + BATCH].T
            if curve:
                yield i, curve(*np.moveaxis(taylor.propagate_grid(times)[1], 1, 0)).T
            else:
                taylor.propagate_until(run.t_end)
                yield i, taylor.state.T.copy()

    integrators = [compiled.__copy__() for _ in range(THREADS)]
    crew = concurrent.futures.ThreadPoolExecutor(THREADS)

    def work():
        parts = crew.map(lambda first: list(some(integrators[first], first)), range(THREADS))
        return np.concatenate([values for _, values in sorted(itertools.chain(*parts), key=lambda part: part[0])])

    return work, seconds


def sweep(problem, name="", curve=None, limit=1e-6):
    """Returns the work of a sweep's flows: their ends, or popflow's observable `name` at all records by its `curve`.

    `problem(run)` returns the equations, starts and constants of `flows`, and popflow's fields as functions of
    the states (flow, variable) by name. `limit` is the largest difference of ends.
    """
    def work(checked, timed):
        equations, starts, constants, fields = problem(timed)
        integrate, seconds = flows(timed, equations, starts, constants, curve)
        found, agreement = integrate(), peer.Agreement()
        if curve:
            popflows = checked.curve(name)
            agreement.close(name, found.reshape(popflows.shape), popflows)
        else:
            for field, of in fields.items():
                popflows = checked.file[field][()].reshape(of(found).shape)
                agreement.close(field, of(found), popflows, of(starts), limit)
        peer.serve(integrate, agreement, ("heyoka",), compiled=seconds)

    return work
