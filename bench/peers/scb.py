"""The sparse contextual bigram of a file of popflow's, for all peers of `scb`; a query's attention a_k is
a row here, contiguous, as it is in popflow."""

import numpy as np
import peer


def timed_steps(noisy):
    """Of a peer's repetition, of Euler's steps: enough for a second or two."""
    return 4 if noisy else 10


class Bigram:
    def __init__(self, run):
        self.P, self.mu = run.problem("P"), run.problem("mu")
        # A row a query: the positions that it attends to, and their weights.
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
        # Of isotropic noise in a step.
        self.noise = run.parameter("noise-scale") * (
            run.parameter("learning-rate") / run.parameter("batch-size") * self.h)**0.5

    def agreement(self, ends, run, noisy):
        """Of the peer's ends (V, A) of each run with those of popflow."""
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
    """The work of Euler's steps by a class of steppers, of a problem, with noise or without, and a seed."""
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
