"""Flows in few numbers by heyoka's Taylor method: four systems, and the diagonal linear network of the gallery."""

import os
import subprocess
import tempfile

import h5py
import heyoka
import in_heyoka
import numpy as np
import peer


def variables(name, *shape):
    """Returns an array of heyoka's variables."""
    size = int(np.prod(shape))
    return np.array(heyoka.make_vars(*(f"{name}{i}" for i in range(size))), dtype=object).reshape(shape)


def parameters(first, size):
    return np.array([heyoka.par[first + i] for i in range(size)], dtype=object)


def start_of(dataset, words):
    """Returns a dataset of a run without a step, for a problem that a sweep's file does not hold."""
    with tempfile.TemporaryDirectory(prefix="popflow-bench-") as folder:
        file = f"{folder}/start.h5"
        subprocess.run([os.environ["POPFLOW"], "run", *words.split(), "--t-end", "0", "--quiet", "-o", file], check=True)
        with h5py.File(file) as run:
            return run[dataset][()]


def linear_attention(run):
    """Diagonal coordinates, over the size of the start and the length of prompts."""
    eigenvalues = run.parameter("eigenvalues")
    sigma, N = in_heyoka.grid(run, "init_scale", "context_length").T[:, :, None]  # (flow, 1)
    gamma = (1 + 1 / N) * eigenvalues + eigenvalues.sum() / N  # (flow, number)
    d = len(eigenvalues)
    u, U = variables("u", 1)[0], variables("U", d)
    a, b = parameters(0, d), parameters(d, d)
    G = a * (u * U - b)
    starts = np.hstack([sigma, np.repeat(sigma / np.sqrt(d), d, 1)])
    return ([(u, -heyoka.sum(list(G * U))), *zip(U, -u * G)], starts,
            np.hstack([gamma * eigenvalues**2, 1 / gamma]),
            {"w_PV": lambda x: x[:, 0], "W_KQ": lambda x: x[:, 1:]})


def deep_linear(run):
    """Two layers, over the size of a Gaussian start."""
    strengths = run.parameter("strengths")
    n = len(strengths)
    first, second = variables("first", n, n), variables("second", n, n)
    error = np.diag(strengths) - second @ first
    velocities = [second.T @ error, error @ first.T]
    words = f"deep-linear --strengths {','.join(map(str, strengths))} --start gaussian --init-scale 1"
    unit = start_of("W", f"{words} --problem-seed {run.parameter('problem-seed')}")[0]
    return (list(zip([*first.flat, *second.flat], [x for layer in velocities for x in layer.flat])),
            in_heyoka.grid(run, "init_scale") * unit.ravel(), np.empty((run.file["init_scale"].size, 0)),
            {"W": lambda x: x})


def scb(run):
    """Signal coordinates from the stationary start, where x = y = 0, over the context length."""
    V, rho, A = heyoka.make_vars("alpha_V", "rho_V", "alpha_A")
    kappa, K, rate = (heyoka.par[i] for i in range(3))
    T = run.file["context_length"][()]
    constants = np.stack([run.file["kappa"][()], run.file["K_P"][()], 1 / T], -1)
    miss = 1 - V * A
    return ([(V, (1 - V) * rate + kappa * A * miss), (rho, -(rate + kappa * A * A) * rho), (A, V * K * miss)],
            np.repeat([[0.0, 1.0, 0.0]], len(T), 0), constants,
            {name: lambda x, i=i: x[:, i] for i, name in enumerate(("alpha_V", "rho_V", "alpha_A"))})


def joma(run):
    """Targets and softmax in reduced coordinates, over the start and the temperature."""
    words = f"joma --activation nonlinear --tokens {run.parameter('tokens')}"
    goal = start_of("problem/target", f"{words} --problem-seed {run.parameter('problem-seed')}")[0]
    init, temperature = in_heyoka.grid(run, "init", "temperature").T[:, :, None]
    s, v0, factor = variables("s", len(goal)), heyoka.par[0], heyoka.par[1]
    weights = np.array([heyoka.exp(factor * v * v) for v in (
        mu - (mu - v0) * heyoka.exp(-x) for mu, x in zip(goal, s))], dtype=object)
    return (list(zip(s, weights / heyoka.sum(list(weights)))), np.zeros((len(init), len(goal))),
            np.hstack([init, 1 / (2 * temperature**2)]),
            {"v": lambda x: goal - (goal - init) * np.exp(-x)})


def diagonal(run):
    """The diagonal linear network of examples/models/diagonal_linear.py, over the size of the start."""
    inputs = np.random.default_rng(2).normal(size=(3, 6))
    u, v = variables("u", 6), variables("v", 6)
    slope = 2 / 3 * ((inputs @ (u * u - v * v) - inputs[:, 0]) @ inputs)
    alpha = in_heyoka.grid(run, "alpha")
    return (list(zip([*u, *v], [*(-u * slope), *(v * slope)])), np.repeat(alpha, 12, 1), np.empty((len(alpha), 0)),
            {"u": lambda x: x[:, :6], "v": lambda x: x[:, 6:]})


peer.main({system.__name__: in_heyoka.sweep(system)
           for system in (linear_attention, deep_linear, scb, joma, diagonal)})
