"""`markov` (optimal bias) by heyoka's Taylor method: flows in batches of SIMD lanes, on two threads.

A flow of w never crosses zero, so that |w| is the start's sign times w, and the gradient is smooth. With
a = 1 and b = exp(slope/2) it is the formula of markov.py: its terms are homogeneous in (a, b).
"""

import concurrent.futures

import heyoka
import numpy as np
import peer

PACKAGES = ("heyoka",)
BATCH = 16  # 8 to 32 are alike; Python calls heyoka once for each batch
THREADS = 2


def gradient(run, e, w, sign):
    """Returns the velocities of e and w, as heyoka's expressions."""
    p, q = run.parameter("p"), run.parameter("q")
    pi0, pi1 = q / (p + q), p / (p + q)
    move = p * q / (p + q)
    stay2 = pi0 * (1 - p) * pi1 * (1 - q)
    best = np.log((1 - p) * (1 - q) / (p * q))
    slope = e * e * (1 + 2 * sign * w * w)
    b = heyoka.exp(slope / 2)
    D = (q - p) / (p + q)
    S = heyoka.sqrt(D * D + 4 * pi0 * pi1 * b * b)
    change, stay = 2 * pi0 * pi1 / (1 + S), pi0 * (D + S) / (1 + S)
    g = stay2 * (heyoka.exp(slope - best) - 1) / (
        stay + pi1 * (1 - q) + b * b * (change + move))
    return -g * e * (2 + 4 * sign * w * w), -g * 4 * e * e * sign * w


def flows(run, curve):
    """Returns a function that integrates all starts of the sweep, and the starts.

    The function returns the ends (start, coordinate), or the slopes (start, record).
    """
    e, w = heyoka.make_vars("e", "w")
    de, dw = gradient(run, e, w, heyoka.par[0])
    starts = np.stack(np.meshgrid(run.file["e0"][()], run.file["w0"][()], indexing="ij"), -1).reshape(-1, 2)
    assert len(starts) % BATCH == 0
    compiled = heyoka.taylor_adaptive_batch(
        [(e, de), (w, dw)], state=np.ones((2, BATCH)), pars=np.ones((1, BATCH)), tol=run.parameter("rtol"))
    grid = np.repeat(run.times()[:, None], BATCH, 1) if curve else None

    def some(first):
        """Integrates every THREADS-th batch of starts, from the given one on."""
        found, taylor = {}, integrators[first]
        for i in range(first * BATCH, len(starts), THREADS * BATCH):
            taylor.set_time(0.0)
            taylor.state[:] = starts[i:i + BATCH].T
            taylor.pars[:] = np.sign(taylor.state[1])
            if curve:
                records = taylor.propagate_grid(grid)[1]
                e, w = records[:, 0].T, records[:, 1].T
                found[i] = e * e * (1 + 2 * w * np.abs(w))
            else:
                taylor.propagate_until(run.t_end)
                found[i] = taylor.state.T.copy()
        return found

    integrators = [compiled.__copy__() for _ in range(THREADS)]
    crew = concurrent.futures.ThreadPoolExecutor(THREADS)

    def work():
        found = {}
        for part in crew.map(some, range(THREADS)):
            found.update(part)
        return np.concatenate([found[i] for i in sorted(found)])

    return work, starts


def ends(checked, timed):
    work, starts = flows(timed, curve=False)
    found = work()
    agreement = peer.Agreement()
    for i, name in enumerate("ew"):
        agreement.close(name, found[:, i], checked.file[name][()].ravel(), starts[:, i])
    peer.serve(work, agreement, PACKAGES)


def curves(checked, timed):
    work, _ = flows(timed, curve=True)
    slopes = checked.curve("slope")
    agreement = peer.Agreement()
    agreement.close("slope", work().reshape(slopes.shape), slopes)
    peer.serve(work, agreement, PACKAGES)


peer.main({"flows": ends, "curves": curves})
