"""Sparse contextual bigram from popflow's file, for all peers of `scb`.

A query's attention a_k is a contiguous row, as in popflow."""

import numpy as np
import peer


def timed_steps(noisy):
    """Returns the number of Euler steps in a peer's repetition, enough for a second or two."""
    return 4 if noisy else 10


class Bigram:
    def __init__(self, run):
        self.P, self.mu = run.problem("P"), run.problem("mu")
        # A row per query: the positions that the query attends to, and their weights.
        self.positions = np.ascontiguousarray(run.problem("Q_position").T)
        self.q = np.ascontiguousarray(run.problem("Q_value").T)
        self.N, self.T = len(self.mu), run.parameter("context-length")
        self.rows = np.arange(self.N)[:, None]
        self.centred = self.P - (self.P @ self.mu)[:, None]
        self.P_mu = self.P @ self.mu
        self.V = self.mu[:, None] * np.ones((1, self.N))
        self.A = np.full((self.N, self.T), 1 / self.T)
        self.h = run.parameter("dt") or 0.0
        self.steps = run.steps()
        # Standard deviation of a step's isotropic noise.
        self.noise = run.parameter("noise-scale") * (
            run.parameter("learning-rate") / run.parameter("batch-size") * self.h)**0.5

    def agreement(self, ends, run, noisy):
        """Compares the peer's final (V, A) of each run with popflow's."""
        popflow = run.end("V"), np.swapaxes(run.end("A"), -1, -2)
        agreement = peer.Agreement()
        if not noisy:
            for name, end, theirs, start in zip("VA", ends[0], popflow, (self.V, self.A)):
                agreement.close(name, end, theirs, start, 1e-9)
            return agreement
        for i, (name, start) in enumerate((("V", self.V), ("A", self.A))):
            squares = [[((x - start)**2).sum() for x in runs]
                       for runs in ([end[i] for end in ends], popflow[i])]
            agreement.alike(f"squares of {name}", *squares)
        return agreement


def euler(stepper, library, noisy):
    """Returns the work of Euler steps by a stepper class of (problem, noise, seed)."""
    def serve(checked, timed):
        problem = Bigram(checked)
        ends = [stepper(problem, noisy, seed).run(problem.steps)
                for seed in range(checked.parameter("runs"))]
        agreement = problem.agreement(ends, checked, noisy)
        problem, steps = Bigram(timed), timed_steps(noisy)
        timed_stepper = stepper(problem, noisy)
        timed_stepper.run(1)
        peer.serve(lambda: timed_stepper.run(steps), agreement, [library], steps / problem.steps)

    return serve
