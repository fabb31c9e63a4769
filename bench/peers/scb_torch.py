"""`scb` in PyTorch: Euler steps in full coordinates, without and with isotropic noise, and sampled SGD.

Uses whole tensors, no loop over samples, and no autograd: the gradient is written out, as in popflow. If a
part of a sampled step has several natural forms, each is timed first and the fastest is used.
"""

import os
import time

import draws
import peer
import scb
import torch

torch.set_num_threads(len(os.sched_getaffinity(0)))


def tensor(array):
    return torch.from_numpy(array.copy())


class Euler:
    def __init__(self, problem, noisy, seed=1):
        torch.manual_seed(seed)
        self.problem, self.noisy = problem, noisy
        self.V, self.A, self.P_mu, self.mu, self.centred, self.positions, self.q, self.rows = map(
            tensor, (problem.V, problem.A, problem.P_mu, problem.mu, problem.centred,
                     problem.positions, problem.q, problem.rows))
        self.noise = torch.empty_like(self.A) if noisy else None

    def step(self):
        p, V, A, mu = self.problem, self.V, self.A, self.mu
        V_mu = V @ mu
        W = V - V_mu[:, None]
        PV, VV = ((W * self.centred) @ mu).sum().item(), ((W * W) @ mu).sum().item()
        s, norm = A.sum(1), torch.linalg.vector_norm(A, dim=1)
        qa = (A[self.rows, self.positions] * self.q).sum(1)
        c_q, c_2, c_s, c_ss = mu @ qa, mu @ norm**2, mu @ s, mu @ s**2
        V += p.h * (c_q * self.centred - c_2 * V
                    + (c_s * self.P_mu + (c_2 - c_ss) * V_mu)[:, None])
        shift = p.h * (VV * s - PV) / p.T
        if self.noisy:
            self.noise.normal_(0, p.noise)
            shift = shift - self.noise.mean(1)
            noise = p.noise * torch.randn_like(V)
            V += noise - noise.mean(0)
        # Computes shift + (1 - h VV) A in one pass.
        torch.add(shift[:, None], A, alpha=1 - p.h * VV, out=A)
        if self.noisy:
            A += self.noise
        A[self.rows, self.positions] += p.h * PV * self.q

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self.V.numpy(), self.A.numpy()


# ---- sampled gradients

def fastest(forms, *arguments):
    """Returns the fastest of several equivalent functions."""
    def seconds(function):
        function(*arguments)
        begin = time.perf_counter()
        for _ in range(3):
            function(*arguments)
        return time.perf_counter() - begin

    return min(forms, key=seconds)


class Sgd:
    def __init__(self, problem, run, seed=1):
        torch.manual_seed(seed)
        self.B, self.T, self.N = B, T, N = run.parameter("batch-size"), problem.T, problem.N
        self.eta = run.parameter("learning-rate")
        self.V, self.A, self.mu, self.P, self.positions, self.q = map(
            tensor, (problem.V, problem.A, problem.mu, problem.P, problem.positions, problem.q))
        own, other = draws.alias_table(problem.mu)
        own, other = torch.from_numpy(own).float(), torch.from_numpy(other)
        cdf = torch.cumsum(self.mu, 0).float()[:-1].contiguous()
        uniform, offsets = torch.empty(B, T), (torch.arange(B) * N)[:, None]
        zeros, rows = torch.zeros(B, N, dtype=torch.float64), torch.arange(B)
        self.samples = rows

        def by_alias():
            uniform.uniform_().mul_(N)
            place = uniform.long()
            return torch.where(uniform.sub_(place) < own[place], place, other[place])

        def by_bisection():
            return torch.searchsorted(cdf, uniform.uniform_())

        def by_multinomial():
            return torch.multinomial(self.mu, B * T, replacement=True).view(B, T)

        self.tokens = fastest([by_alias, by_bisection, by_multinomial])
        x, k = self.tokens(), torch.zeros(B, dtype=torch.long)
        # Computes u_i = sum_t a_k[t] e_(x_t).
        self.attended = fastest([
            lambda x, a: zeros.zero_().scatter_add_(1, x, a),
            lambda x, a: torch.bincount((x + offsets).view(-1), a.reshape(-1),
                                        minlength=B * N).view(B, N)], x, self.A[k])
        self.gains = fastest([lambda z, x: z.gather(1, x),
                              lambda z, x: torch.take(z, x + offsets)], zeros.clone(), x)
        self.optimizer = self.with_moments(run)
        self.raw = run.parameter("preconditioner") == "none"
        self.projected = run.parameter("project") == "attention"
        self.add = fastest([
            lambda k, g: self.A.index_add_(0, k, g),
            lambda k, g: self.A.addmm_(
                torch.zeros(N, B, dtype=torch.float64).scatter_(0, k[None], 1), g)],
            k, torch.zeros(B, T, dtype=torch.float64))

    def with_moments(self, run):
        """Returns torch.optim's momentum or Adam in its fastest form; None for plain SGD."""
        name = run.parameter("optimizer")
        if name == "sgd":
            return None
        made = {"momentum": lambda **form: torch.optim.SGD(
                    [self.V, self.A], lr=self.eta, momentum=run.parameter("momentum"),
                    maximize=True, **form),
                "adam": lambda **form: torch.optim.Adam(
                    [self.V, self.A], lr=self.eta, maximize=True,
                    betas=run.betas(), eps=run.parameter("epsilon"), **form)}[name]
        self.V.grad, self.A.grad = torch.zeros_like(self.V), torch.zeros_like(self.A)
        forms = []
        for form in ({"foreach": True}, {"foreach": False}, {"fused": True}):
            try:
                made(**form).step()  # first step with zero gradients
                forms.append(form)
            except (TypeError, RuntimeError, ValueError):
                pass  # this version lacks the form on CPUs
        steps = {str(form): made(**form).step for form in forms}
        best = fastest(list(steps.values()))
        self.form = next(form for form in forms if steps[str(form)] == best)
        return made(**self.form)

    def step(self):
        k = torch.multinomial(self.mu, self.B, replacement=True)
        x = self.tokens()
        slot = torch.multinomial(self.q[k], 1)[:, 0]
        s = self.positions[k, slot]
        y = torch.multinomial(self.P.T[x[self.samples, s]], 1)[:, 0]
        U = self.attended(x, self.A[k])
        R = -(U @ self.V.T)
        R[self.samples, y] += 1
        Z = R @ self.V
        if not self.raw:
            U, Z = U / self.mu, Z / self.mu[k][:, None]
        if self.optimizer is not None:
            return self.step_of_optimizer(k, x, U, R, Z)
        self.V.addmm_(R.T, U, alpha=self.eta / self.B)
        g = self.gains(Z * (self.eta / self.B), x)
        if self.projected:
            g -= g.mean(1, keepdim=True)
        self.add(k, g)

    def step_of_optimizer(self, k, x, U, R, Z):
        torch.mm(R.T, U, out=self.V.grad).div_(self.B)
        g = self.gains(Z / self.B, x)
        if self.projected:
            g -= g.mean(1, keepdim=True)
        self.A.grad.zero_().index_add_(0, k, g)
        self.optimizer.step()

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self.V.numpy(), self.A.numpy()


def sgd(checked, timed, fewer=10):
    problem = scb.Bigram(checked)
    ends = [Sgd(problem, checked, seed).run(problem.steps)
            for seed in range(checked.parameter("runs"))]
    agreement = problem.agreement(ends, checked, noisy=True)
    problem = scb.Bigram(timed)
    stepper, steps = Sgd(problem, timed), problem.steps // fewer
    stepper.run(3)
    peer.serve(lambda: stepper.run(steps), agreement, ["torch"], steps / problem.steps)


peer.main({"euler": scb.euler(Euler, "torch", noisy=False),
           "isotropic": scb.euler(Euler, "torch", noisy=True), "sgd": sgd})
