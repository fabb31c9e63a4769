#!/usr/bin/python3
# label: fast
"""Checks the claims of data/experiments/linear-attention-*.cfg as numbers."""

from experiment import check, close, experiment, near, np
from runs import run_all

LAMBDA = np.array([1, 0.5, 0.25])


def gamma(pairs):
    return (1 + 1 / pairs) * LAMBDA + LAMBDA.sum() / pairs


def test_limit():
    run = experiment("linear-attention-limit.cfg")
    trace = np.sum(gamma(20) ** -2)
    near(run.last("w_PV"), trace ** 0.25, 1e-8)
    near(run.last("w_PV"), 1.846, 1e-3)
    limit = np.diag(trace ** -0.25 / gamma(20))
    check(np.max(np.abs(run.last("W_KQ") - limit)) < 1e-8, "W_KQ ends elsewhere")
    check(np.allclose(np.diag(limit), [0.476, 0.885, 1.548], atol=1e-3), "not the limit told")
    check(np.any(np.abs(run.first("W_KQ")) * (1 - np.eye(3)) > 1e-5), "the start is diagonal")
    check(run.last("distance") < 1e-11, "distance")
    check(np.max(np.abs(run["balance"])) < 1e-10, "the balance drifts")
    near(run.attributes["loss_minimum"], np.sum(LAMBDA - LAMBDA ** 2 / gamma(20)) / 2, 1e-14)
    near(run.last("loss"), run.attributes["loss_minimum"], 1e-12)
    close(run.event("learned"), 31.57, 1e-3)
    check(np.all(np.abs(run["loss"][run["time"] < 5] - 0.875) < 1e-3), "no plateau")


def test_long_test_prompts():
    """The remaining test loss falls with the square of the length of the training prompts."""
    left = {}
    for pairs in (20, 200, 2000):
        run = experiment("linear-attention-limit.cfg", "--context-length", pairs)
        left[pairs] = run.last("test_loss")
        close(left[pairs], np.sum(LAMBDA * (1 - LAMBDA / gamma(pairs)) ** 2) / 2, 1e-3)
    near(left[20], 0.0259, 1e-4)
    near(left[200], 0.00040, 1e-5)
    close(left[200] / left[2000], 100, 0.06)


if __name__ == "__main__":
    run_all()
