"""Checks of SGD in high dimension, and its experiment: the risk of finite dimensions follows its equation."""

import glm_sgd as glm
import numpy as np

import popflow

from . import FLOW, OTHER, Check, order


def noisy_label(a, b, rng):
    """Derivative of least squares with label noise 0.1."""
    return a - b - 0.1 * rng.normal(size=a.shape)


def phase(a, b, rng):
    return (a * a - b * b) * a


def standard_errors(values, expected, size):
    """Returns the distance of a mean from the limit of large dimensions, less 1/d, in standard
    errors. The mean has a bias of order 1/d."""
    error = values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return float((np.maximum(np.abs(values.mean(axis=-1) - expected) - 1 / size, 0) / error).max())


def checks():
    system = glm.least_squares().build()
    for gamma in (0.5, 1.5):
        run = popflow.run(system, gamma=gamma, t_end=5, rtol=1e-11)
        off = np.abs(run.D - glm.exact_distance(run.time, gamma)).max()
        yield Check(f"least squares: risk against the exponential, gamma = {gamma}", float(off), 1e-9)
    growth = [float(np.log(popflow.run(system, gamma=gamma, sigma=0, t_end=20, saves=2).risk[-1] * 2))
              for gamma in (1.99, 2.01)]
    yield Check("least squares: log of the risk below the largest stable rate, 1.99",
                growth[0], -0.39, -0.41)
    yield Check("least squares: log of the risk above that rate, 2.01", growth[1], 0.41, 0.39)
    errors = [abs(float(popflow.run(system, t_end=4, method="rk4", dt=dt, saves=2).D[-1])
                  - glm.exact_distance(4)) for dt in (1.0, 0.5, 0.25)]
    yield Check("order of convergence of rk4", order(errors), 4.5, 3.5)
    # Four standard errors: error rate 1e-4.
    run = popflow.run(system, t_end=3, saves=2)
    rho = glm.simulated(noisy_label, 400, 200, [3], 0.5, (0.0, 0.0), seed=1)[0]
    yield Check("least squares: distance of SGD with d = 400, in standard errors beyond 1/d",
                standard_errors(rho[0] - 2 * rho[1] + 1, float(run.D[-1]), 400), 4)
    noisy = popflow.run(system, mode="sde", learning_rate=1 / 400, batch_size=1, runs=2000, t_end=3,
                        saves=2, seed=4).D[:, -1]
    # Four standard errors of a standard deviation.
    exact = glm.exact_spread(3, 400)
    for name, found in (("SDE", noisy.values), ("SGD with d = 400", rho[0] - 2 * rho[1] + 1)):
        yield Check(f"least squares: distance of the spread of the {name} from the exact one, in standard errors",
                    abs(found.std() / exact - 1) * np.sqrt(2 * len(found)), 4)
    run = popflow.run(glm.phase_retrieval().build(), gamma=0.1, t_end=10, rtol=1e-9,
                      saves=2).isel(time=-1)
    found = glm.simulated(phase, 200, 300, [10], 0.1, (0.5, 0.2), seed=2)[0]
    yield Check("phase retrieval: order parameters of SGD with d = 200, in standard errors beyond 1/d",
                standard_errors(found, np.array([run.rho, run.overlap]), 200), 4)


def experiment(axes):
    system = glm.least_squares().build()
    for gamma, colour in ((0.2, FLOW), (1.0, "#1b9e77"), (1.8, OTHER)):
        run = popflow.run(system, gamma=gamma, t_end=15, saves=101)
        axes.plot(run.time, run.risk, color=colour, label=f"rate {gamma} / d")
        times = np.arange(0, 16)
        sgd = glm.simulated(noisy_label, 200, 1, times, gamma, (0.0, 0.0), seed=3)[..., 0]
        axes.plot(times, (sgd[:, 0] - 2 * sgd[:, 1] + 1 + 0.1**2) / 2, ".", color=colour, markersize=4)
    axes.plot([], [], ".", color="grey", label="a run of SGD, d = 200")
    axes.legend(fontsize=8)
    axes.set(yscale="log", xlabel="examples / d", ylabel="risk", title="least squares by streaming SGD")
    floor = [(glm.exact_distance(np.inf, gamma) + 0.1**2) / 2 for gamma in (0.2, 1.8)]
    return f"risk at the end {floor[0]:.4f} at the rate 0.2 / d, {floor[1]:.4f} at 1.8 / d"
