#!/usr/bin/python3
# label: fast
"""Checks the claims of JoMA's maps: which tokens are learned first, and the correlation of theorem
1."""

import os

from experiment import Folder, Run, check, experiment, near, np
from runs import popflow, run_all


def clock(target, start, temperature):
    """Returns exp attention's time to bring a token to 90% of its target, by quadrature."""
    target, start, temperature = (np.asarray(a)[..., None] for a in (target, start, temperature))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    half = (0.9 * target - start) / 2
    u = start + half * (nodes + 1)
    return np.sum(weights * half * np.exp(-(u / temperature)**2 / 2) / (target - u), axis=-1)


def test_which_tokens_are_learned_first():
    sweep = experiment("joma-first-learned.cfg")
    target, tau, start = sweep["target_min"], sweep["temperature"], sweep["init"]
    check(np.array_equal(target, sweep["target_max"]), "a target is drawn")
    time = sweep["time_to_90"][..., 0, 0]
    exact = clock(target[:, None, None], start, tau[:, None])
    check(time.shape == (61, 41, 3), "the grid")
    check(np.abs(time / exact - 1).max() < 2e-7, "not the times of the clock")

    # Larger targets are reached sooner above the bound, and later below it.
    bound = np.cbrt(start * tau[:, None]**2)
    between = (target[1:] + target[:-1])[:, None, None] / 2
    later = np.diff(time, axis=0) > 0
    check(later.any() and not later.all(), "there is one order only")
    check(np.all(later[np.broadcast_to(between < bound, later.shape)]), "sooner below the bound")
    check(not np.any(later & (between > 1.35 * bound)), "later above the bound")
    # The bound is sharper for smaller starts: it is the limit for starts far below the target.
    astray = np.mean(later != (between < bound), axis=(0, 1))
    check(np.all(np.diff(astray) > 0) and astray[0] < 0.002 and astray[2] < 0.025, f"{astray}")
    turned = np.argmax(time[0] < time[-1], axis=0)
    check(np.all((tau[turned - 1] < (13.5, 5.4, 1.4)) & (tau[turned] > (15, 5.9, 1.5))),
          f"the least target comes before the largest from {tau[turned]} on")
    near(np.cbrt(0.05 * 0.3**2), 0.17, 5e-3)
    near(np.cbrt(0.05 * 3**2), 0.77, 5e-3)
    near(np.cbrt(0.05 * 30**2), 3.6, 5e-2)


def test_softmax_learns_in_the_same_order():
    for temperature in (1, 3, 10):
        with Folder() as folder:
            path = os.path.join(folder, "run.h5")
            popflow("run", "joma", "--activation", "nonlinear", "--attention", "softmax",
                    "--tokens", 30, "--target-min", 0.25, "--target-max", 4,
                    "--temperature", temperature, "-o", path, code=0)
            run = Run(path)
        alone = clock(run.problem["target"][0], 0.05, float(temperature))
        time = run["time_to_90"][0][np.argsort(alone)]
        learned = np.isfinite(time)
        check(learned.sum() > 10, f"tau = {temperature}: hardly any is learned")
        check(np.all(np.diff(time[learned]) > 0), f"tau = {temperature}: another order")
        check(np.all(learned[:-1] >= learned[1:]), f"tau = {temperature}: one is left out")


SHORT = ("--runs", 2, "--over", "attention=softmax,exp,linear", "--over", "learning-rate=.2,1",
         "--over", "width:classes=5,20", "--over", "width:nodes=5,20")


def test_the_correlation_of_the_theorem_on_a_few_cells():
    """Checks a few cells of the map of joma_joint_test.py, with the same seeds. The bounds allow
    for two runs instead of four."""
    sweep = experiment("joma-joint-correlation.cfg", *SHORT)
    correlation = sweep["correlation"]
    check(correlation.shape == (3, 2, 2, 2), f"{correlation.shape}")
    softmax, exp, linear = correlation
    check(linear.min() > 0.994, f"linear: {linear}")
    check(np.all((softmax[:, 0] > 0.85) & (softmax[:, 0] < 0.985)), f"softmax, 5 nodes: {softmax}")
    check(np.all(softmax[:, 1] > 0.99), f"softmax, 20 nodes: {softmax}")
    mean = exp.mean(axis=-1)
    check(np.all(mean[1] < 0.7) and np.all(mean[1] < mean[0] - 0.2), f"exp: {mean}")
    check(np.all(sweep["theorem_residual"][1] > 1), "exp: the constant stays")


def test_large_steps_break_the_correlation_with_exp_attention():
    def flow(classes, *more):
        return experiment("joma-joint-correlation.cfg", "--mode", "flow", *more, "--over",
                          "attention=exp", "--over", f"width:classes={classes}", "--over",
                          f"width:nodes={classes}")["correlation"]

    check(flow("5,10,40").min() > 1 - 1e-9, "the flow")
    # Where steps are unstable, rounding determines the digits.
    for step, low, high in ((0.05, 0.91, 0.99), (0.2, -1, -0.5), (1, -1, -0.5)):
        found = flow("5,10,20", "--method", "euler", "--dt", step)
        check(np.all((found >= low) & (found < high)), f"steps of {step}: {found}")


if __name__ == "__main__":
    run_all()
