#!/usr/bin/python3
"""One step of sampled SGD of scb (linear attention, projected, inverse-frequency) in PyTorch.

usage: scb_sgd_torch.py [N] [T] [S] [B]     prints the seconds of a step, best of several, of forms

Everything is drawn and computed on whole tensors, with no loop over samples. What has several
natural forms is timed on its own first, and the fastest is taken:

  tokens    torch.multinomial; uniform numbers through searchsorted; an alias table
  sums      u_i = sum_t a_k[t] e_(x_t): scatter_add; a weighted bincount; one-hot matrices (bmm)
  gains     z_i[x_t]: gather; one flat take
  columns   index_add_ into the transposed attention; sums by query with a one-hot matrix

Twice: with 64-bit and with 32-bit numbers (popflow has 64). All cores. No autograd: the gradient is
written out, as popflow's is.
"""

import os
import sys
import time

import torch


def best(function, repetitions=5):
    function()
    seconds = float("inf")
    for _ in range(repetitions):
        begin = time.perf_counter()
        function()
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds


def fastest(name, forms, *arguments):
    times = {form: best(lambda: function(*arguments), 3) for form, function in forms.items()}
    said = ", ".join(f"{form} {1e3 * s:.1f}" for form, s in times.items())
    print(f"  {name} (ms): {said}", file=sys.stderr)
    return forms[min(times, key=times.get)]


def alias_table(mu):
    n = len(mu)
    share = (mu * n).tolist()
    threshold, other = [1.0] * n, list(range(n))
    small = [i for i in range(n) if share[i] < 1]
    large = [i for i in range(n) if share[i] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        threshold[low], other[low] = share[low], high
        share[high] -= 1 - share[low]
        (large if share[high] >= 1 else small).append(high)
    return torch.tensor(threshold, dtype=torch.float32), torch.tensor(other)


def time_step(N, T, S, B, dtype):
    torch.manual_seed(1)
    concentration = torch.full((N,), 0.3, dtype=torch.float64)
    P = torch.distributions.Dirichlet(concentration).sample((N,)).T.contiguous()
    mu = torch.full((N,), 1 / N, dtype=torch.float64)
    for _ in range(2000):
        mu = P @ mu
    mu /= mu.sum()
    positions = torch.stack([torch.randperm(T)[:S] for _ in range(N)])
    threshold, other = alias_table(mu)
    cdf = torch.cumsum(mu, 0).to(torch.float32)[:-1].contiguous()
    P, mu = P.to(dtype), mu.to(dtype)
    eta = 1e-3

    V = (mu[:, None] * torch.ones(1, N, dtype=dtype)).contiguous()
    A = torch.full((N, T), 1 / T, dtype=dtype)  # row k is the column a_k
    offsets = (torch.arange(B) * N)[:, None]
    uniform = torch.empty(B, T)

    def tokens_alias():
        uniform.uniform_().mul_(N)
        place = uniform.long()
        keep = uniform.sub_(place) < threshold[place]
        return torch.where(keep, place, other[place])

    draw_tokens = fastest("tokens", {
        "multinomial": lambda: torch.multinomial(mu, B * T, replacement=True).view(B, T),
        "searchsorted": lambda: torch.searchsorted(cdf, uniform.uniform_()),
        "alias": tokens_alias,
    })

    x = draw_tokens()
    k = torch.multinomial(mu, B, replacement=True)
    zeros = torch.zeros(B, N, dtype=dtype)

    def by_one_hot(x, a):
        hot = torch.zeros(B, T, N, dtype=dtype).scatter_(2, x[:, :, None], 1)
        return torch.bmm(a[:, None, :], hot)[:, 0]

    sums = {
        "scatter_add": lambda x, a: zeros.zero_().scatter_add_(1, x, a),
        "bincount": lambda x, a: torch.bincount((x + offsets).view(-1), a.reshape(-1),
                                                minlength=B * N).view(B, N).to(dtype),
    }
    if N <= 32:
        sums["one-hot"] = by_one_hot
    sum_tokens = fastest("sums", sums, x, A[k])

    z = torch.randn(B, N, dtype=dtype)
    take_gains = fastest("gains", {
        "gather": lambda z, x: z.gather(1, x),
        "take": lambda z, x: torch.take(z, x + offsets),
    }, z, x)

    add_columns = fastest("columns", {
        "index_add": lambda k, g: A.index_add_(0, k, g),
        "matrix": lambda k, g: A.addmm_(
            torch.zeros(N, B, dtype=dtype).scatter_(0, k[None], 1), g),
    }, k, torch.zeros(B, T, dtype=dtype))

    rows = torch.arange(B)

    def step():
        k = torch.multinomial(mu, B, replacement=True)
        x = draw_tokens()
        s = positions[k, torch.randint(S, (B,))]
        y = torch.multinomial(P.T[x[rows, s]], 1)[:, 0]
        U = sum_tokens(x, A[k])
        R = -(U @ V.T)
        R[rows, y] += 1
        Z = R @ V
        V.addmm_(R.T, U / mu, alpha=eta / B)
        g = take_gains(Z * (eta / B / mu[k])[:, None], x)
        g -= g.mean(1, keepdim=True)
        add_columns(k, g)

    return best(step, 10)


def main() -> None:
    N, T, S, B = (int(word)
                  for word in (sys.argv[1:] + ["20", "5000", "3", "256"][len(sys.argv) - 1:]))
    for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        seconds = float("inf")
        for threads in sorted({1, os.cpu_count() or 1}):
            torch.set_num_threads(threads)
            seconds = min(seconds, time_step(N, T, S, B, dtype))
        print(f"{name} {seconds:.5f}", flush=True)


if __name__ == "__main__":
    main()
