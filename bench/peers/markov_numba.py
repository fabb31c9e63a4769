"""`markov` (optimal bias) by Dormand and Prince's method written in numba: the flows of a sweep on two threads.

The gradient is that of markov_heyoka.py. Steps have the error norm and the controller of popflow's `rms`, the
root mean square, and each flow has steps of its own.
"""

import time

import numba
import numpy as np
import peer

numba.set_num_threads(2)

# Dormand and Prince's tableau; the last row is also the step.
A = ((1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
     (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
     (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
     (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84))
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


@numba.njit(inline="always")
def drift(of, sign, e, w):
    """Returns the velocities of e and w; `of` holds the chain's constants."""
    q, pi0, pi1, move, stay2, best, D = of
    turned = sign * w
    bend = 1 + 2 * turned * w
    slope = e * e * bend
    b2 = np.exp(slope)
    S = np.sqrt(D * D + 4 * pi0 * pi1 * b2)
    part = 1 / (1 + S)
    change, stay = 2 * pi0 * pi1 * part, pi0 * (D + S) * part
    g = stay2 * (b2 * np.exp(-best) - 1) / (stay + pi1 * (1 - q) + b2 * (change + move))
    return -2 * g * e * bend, -4 * g * e * e * turned


@numba.njit
def flow(of, e, w, t_end, rtol, atol):
    """Returns the end of the flow from (e, w), and its number of steps."""
    sign = 1.0 if w > 0 else -1.0
    t, h, steps = 0.0, 0.01, 0
    e1, w1 = drift(of, sign, e, w)
    while t < t_end:
        h = min(h, t_end - t)
        e2, w2 = drift(of, sign, e + h * A[0][0] * e1, w + h * A[0][0] * w1)
        e3, w3 = drift(of, sign, e + h * (A[1][0] * e1 + A[1][1] * e2), w + h * (A[1][0] * w1 + A[1][1] * w2))
        e4, w4 = drift(of, sign, e + h * (A[2][0] * e1 + A[2][1] * e2 + A[2][2] * e3),
                       w + h * (A[2][0] * w1 + A[2][1] * w2 + A[2][2] * w3))
        e5, w5 = drift(of, sign, e + h * (A[3][0] * e1 + A[3][1] * e2 + A[3][2] * e3 + A[3][3] * e4),
                       w + h * (A[3][0] * w1 + A[3][1] * w2 + A[3][2] * w3 + A[3][3] * w4))
        e6, w6 = drift(of, sign, e + h * (A[4][0] * e1 + A[4][1] * e2 + A[4][2] * e3 + A[4][3] * e4 + A[4][4] * e5),
                       w + h * (A[4][0] * w1 + A[4][1] * w2 + A[4][2] * w3 + A[4][3] * w4 + A[4][4] * w5))
        new_e = e + h * (A[5][0] * e1 + A[5][2] * e3 + A[5][3] * e4 + A[5][4] * e5 + A[5][5] * e6)
        new_w = w + h * (A[5][0] * w1 + A[5][2] * w3 + A[5][3] * w4 + A[5][4] * w5 + A[5][5] * w6)
        e7, w7 = drift(of, sign, new_e, new_w)
        error_e = h * (E[0] * e1 + E[2] * e3 + E[3] * e4 + E[4] * e5 + E[5] * e6 + E[6] * e7)
        error_w = h * (E[0] * w1 + E[2] * w3 + E[3] * w4 + E[4] * w5 + E[5] * w6 + E[6] * w7)
        error_e /= atol + rtol * max(abs(e), abs(new_e))
        error_w /= atol + rtol * max(abs(w), abs(new_w))
        error = np.sqrt((error_e * error_e + error_w * error_w) / 2)
        steps += 1
        if error <= 1:
            t += h
            e, w, e1, w1 = new_e, new_w, e7, w7
        h *= min(10.0, max(0.2, 0.9 * max(error, 1e-10)**-0.2))
    return e, w, steps


@numba.njit(parallel=True)
def sweep(of, starts, ends, steps, t_end, rtol, atol):
    for i in numba.prange(len(starts)):
        ends[i, 0], ends[i, 1], steps[i] = flow(of, starts[i, 0], starts[i, 1], t_end, rtol, atol)


def flows(checked, timed):
    p, q = timed.parameter("p"), timed.parameter("q")
    pi0, pi1 = q / (p + q), p / (p + q)
    of = (q, pi0, pi1, p * q / (p + q), pi0 * (1 - p) * pi1 * (1 - q), np.log((1 - p) * (1 - q) / (p * q)),
          (q - p) / (p + q))
    e, w = np.meshgrid(timed.file["e0"][()], timed.file["w0"][()], indexing="ij")
    starts = np.stack([e.ravel(), w.ravel()], -1)
    ends, steps = np.empty_like(starts), np.empty(len(starts), int)

    def work(t_end=timed.t_end):
        sweep(of, starts, ends, steps, t_end, timed.parameter("rtol"), timed.parameter("atol"))

    begin = time.process_time()
    work(0.0)
    compiled = time.process_time() - begin
    work()
    agreement = peer.Agreement()
    for i, name in enumerate("ew"):
        agreement.close(name, ends[:, i], checked.file[name][()].ravel(), starts[:, i])
    peer.serve(work, agreement, ("numba",), steps=float(steps.mean()), compiled=compiled)


peer.main({"flows": flows})
