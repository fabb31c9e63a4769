"""`markov` (optimal bias) by heyoka's Taylor method.

A flow of w never crosses zero, so that |w| is the start's sign times w, and the gradient is smooth. With
a = 1 and b = exp(slope/2) it is the formula of markov.py: its terms are homogeneous in (a, b).
"""

import heyoka
import in_heyoka
import numpy as np
import peer


def problem(run):
    p, q = run.parameter("p"), run.parameter("q")
    pi0, pi1 = q / (p + q), p / (p + q)
    move = p * q / (p + q)
    stay2 = pi0 * (1 - p) * pi1 * (1 - q)
    best = np.log((1 - p) * (1 - q) / (p * q))
    (e, w), sign = heyoka.make_vars("e", "w"), heyoka.par[0]
    slope = e * e * (1 + 2 * sign * w * w)
    b = heyoka.exp(slope / 2)
    D = (q - p) / (p + q)
    S = heyoka.sqrt(D * D + 4 * pi0 * pi1 * b * b)
    change, stay = 2 * pi0 * pi1 / (1 + S), pi0 * (D + S) / (1 + S)
    g = stay2 * (heyoka.exp(slope - best) - 1) / (
        stay + pi1 * (1 - q) + b * b * (change + move))
    starts = in_heyoka.grid(run, "e0", "w0")
    return ([(e, -g * e * (2 + 4 * sign * w * w)), (w, -g * 4 * e * e * sign * w)], starts,
            np.sign(starts[:, 1:]), {"e": lambda x: x[:, 0], "w": lambda x: x[:, 1]})


peer.main({"flows": in_heyoka.sweep(problem),
           "precision": in_heyoka.sweep(problem, limit=0.01),  # for loose tolerances
           "curves": in_heyoka.sweep(problem, "slope", lambda e, w: e * e * (1 + 2 * w * np.abs(w)))})
