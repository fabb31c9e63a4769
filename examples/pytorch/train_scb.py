#!/usr/bin/python3
"""Train popflow's `scb` layer in plain PyTorch, and ask popflow which rung describes the training.

    examples/pytorch/train_scb.py                 AdamW, batches of 64, 24 runs
    examples/pytorch/train_scb.py --optimizer momentum --rate 0.05 --runs 8

The sampler, the layer, autograd and the optimizer are PyTorch's. popflow draws the problem (P, mu,
Q) before the training. Afterwards it compares its flow, SDE and sampled training with the losses
that were logged. Needs python3-torch and the Python package popflow.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
import xarray

import popflow

# Use the plain gradient of the loss, as an optimizer does; the paper's flow divides it by mu.
RAW = {"preconditioner": "none", "project": "none"}
SIZES = {"vocab_size": 4, "context_length": 30}

OPTIMIZERS = {
    "sgd": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate),
    "momentum": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9),
    "adamw": lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, weight_decay=0),
}


class Task:
    """A sparse contextual bigram with the problem that popflow drew."""

    def __init__(self, problem):
        self.P, self.mu = (torch.tensor(problem[name].values) for name in ("P", "mu"))
        self.T, self.N = int(problem.attrs["context_length"]), len(self.mu)
        self.Q = torch.zeros(self.N, self.T, dtype=torch.float64)  # a row for each query
        positions, weights = problem.Q_position.values.T, problem.Q_value.values.T
        for query in range(self.N):
            self.Q[query, torch.tensor(positions[query])] = torch.tensor(weights[query])

    def sample(self, batch):
        """Contexts, queries and the targets that follow from them."""
        x = torch.multinomial(self.mu, batch * self.T, replacement=True).view(batch, self.T)
        k = torch.multinomial(self.mu, batch, replacement=True)
        s = torch.multinomial(self.Q[k], 1)
        y = torch.multinomial(self.P.T[x.gather(1, s)[:, 0]], 1)[:, 0]
        return x, k, y


class Layer(torch.nn.Module):
    """f(X, k) = V X a_k, from popflow's start: V = mu 1', a_k = 1/T."""

    def __init__(self, task):
        super().__init__()
        self.V = torch.nn.Parameter(task.mu[:, None].repeat(1, task.N))
        self.A = torch.nn.Parameter(torch.full_like(task.Q, 1 / task.T))

    def forward(self, x, k):
        # V X a: the columns of V at the context's tokens, weighted by the attention.
        return (self.V.T[x] * self.A[k][..., None]).sum(1)

    def loss(self, x, k, y):
        targets = torch.nn.functional.one_hot(y, len(self.V))
        return 0.5 * ((self(x, k) - targets)**2).sum(1).mean()

    @torch.no_grad()
    def observables(self, task):
        """The population's loss, in closed form, and distances: popflow's observables by name."""
        V, A, mu, P, Q = self.V, self.A, task.mu, task.P, task.Q

        def spread(X, Y):
            """tr(X' Y Sigma), with Sigma the covariance of a token."""
            return (mu * (X * Y).sum(0)).sum() - (X @ mu) @ (Y @ mu)

        sums, squares = A.sum(1), (A**2).sum(1)
        target = (Q * A).sum(1) * spread(V, P) + sums * ((V @ mu) @ (P @ mu))
        output = squares * spread(V, V) + sums**2 * ((V @ mu) @ (V @ mu))
        loss = 0.5 * (mu * (1 - 2 * target + output)).sum()
        return {"loss": loss, "signal_V": spread(V, P) / spread(P, P),
                "distance_P": (V - P).norm(), "distance_Q": (A - Q).norm()}


def train(task, optimizer, rate, batch, steps, every, seed):
    """Trains one run; returns the observables every so many steps, the start included."""
    torch.manual_seed(seed)
    layer = Layer(task)
    update = OPTIMIZERS[optimizer](layer.parameters(), rate)
    log = [layer.observables(task)]
    for step in range(1, steps + 1):
        update.zero_grad()
        layer.loss(*task.sample(batch)).backward()
        update.step()
        if step % every == 0:
            log.append(layer.observables(task))
    return log


def trained(task, optimizer, rate, batch, steps, every, runs):
    """An ensemble of runs as a dataset along (run, time), with popflow's flow time eta k."""
    logs = [train(task, optimizer, rate, batch, steps, every, seed) for seed in range(runs)]
    values = {name: (("run", "time"), [[float(at[name]) for at in log] for log in logs])
              for name in logs[0][0]}
    return xarray.Dataset(values, {"time": rate * np.arange(0, steps + 1, every)})


def gradient(task, samples, V, A):
    """Mean of autograd's gradients of single samples, and its standard error, entry by entry."""
    torch.manual_seed(0)
    layer = Layer(task)
    with torch.no_grad():
        layer.V.copy_(torch.tensor(V))
        layer.A.copy_(torch.tensor(A))
    parameters = list(layer.parameters())
    first, second = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    for _ in range(samples):
        for i, of in enumerate(torch.autograd.grad(layer.loss(*task.sample(1)), parameters)):
            first[i] += of
            second[i] += of**2
    means = [total / samples for total in first]
    return [(mean.numpy(), ((squares / samples - mean**2) / (samples - 1)).clamp(0).sqrt().numpy())
            for mean, squares in zip(means, second)]


def agrees(task, run, at, samples):
    """Largest z between autograd's mean gradient and popflow's drift at a save of its flow."""
    step = float(run.time[at + 1] - run.time[at])
    V, A = (run[name].values[at] for name in ("V", "A"))
    drift = [(run[name].values[at + 1] - run[name].values[at]) / step for name in ("V", "A")]
    worst = 0.0
    found = gradient(task, samples, V, A.T)
    for (mean, error), flow in zip(found, (drift[0], drift[1].T)):
        # The drift's own error, from a difference over a short time, is below a tenth of the
        # standard errors.
        worst = max(worst, float((abs(mean + flow) / error.clip(1e-4)).max()))
    return worst


def drawn(folder):
    """A run of popflow's flow, which stores the problem. Saves at the start and at t = 100, where gradients
    are larger, each with a second save shortly after."""
    return popflow.run("scb", **SIZES, **RAW, save_at=[0, 1e-4, 100, 100 + 1e-4], t_end=100 + 1e-4,
                       rtol=1e-12, atol=1e-14, output=folder / "problem.h5", force=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--rate", type=float, default=0.01, help="learning rate (default: 0.01)")
    parser.add_argument("--batch", type=int, default=64, help="batch size (default: 64)")
    parser.add_argument("--steps", type=int, default=100, help="steps of a run (default: 100)")
    parser.add_argument("--runs", type=int, default=24, help="runs, of each rung too (default: 24)")
    parser.add_argument("--samples", type=int, default=4000,
                        help="samples for the gradient at the start (default: 4000)")
    parser.add_argument("--folder", type=Path, default=Path(), help="where files go")
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small

    run = drawn(chosen.folder)
    task = Task(run.popflow.group("problem"))
    for at, where in ((0, "the start"), (2, "t = 100 of the flow")):
        print(f"gradient at {where}, autograd against popflow's flow: largest |z| "
              f"{agrees(task, run, at, chosen.samples):.2f} from {chosen.samples} samples")

    training = trained(task, chosen.optimizer, chosen.rate, chosen.batch, chosen.steps,
                       math.gcd(chosen.steps, 10), chosen.runs)
    path = chosen.folder / "training.nc"
    training.to_netcdf(path, engine="h5netcdf")
    print(f"{path}: {chosen.runs} runs of {chosen.steps} steps of PyTorch's {chosen.optimizer}")

    rule = {} if chosen.optimizer == "sgd" else {"optimizer": chosen.optimizer}
    result = popflow.compare(
        "scb", trajectories={"pytorch": path}, problem=chosen.folder / "problem.h5", **RAW, **rule,
        rungs=["flow", "sde", "sgd"], learning_rate=chosen.rate, batch_size=chosen.batch,
        runs=chosen.runs, output=chosen.folder / "scb-pytorch.h5", force=True)
    print(result)


if __name__ == "__main__":
    main()
