#!/usr/bin/python3
# label: slow
"""The claims of the experiments with joma-joint, as numbers."""

from experiment import check, experiment, np
from runs import run_all


def test_logits_follow_the_weights():
    """Figures 2 and 3: the correlation stays near 1; for other draws of the problem, too."""
    for seed in range(1, 5):
        run = experiment("joma-figure2.cfg", "--problem-seed", seed)
        check(run.status == "complete", "it does not end")
        check(run.statistics["accepted_steps"] == 2000, "not 2000 steps")
        correlation = run["correlation"]
        check(correlation.min() > 0.98, f"seed {seed}: {correlation.min()}")
        check(correlation[-1] > 0.99, f"seed {seed}: {correlation[-1]}")
        # Neither term alone does as well.
        check(np.all(run["correlation_weights"] <= correlation), "weights alone")
        check(np.all(run["correlation_norm"] <= correlation), "norm alone")
        # The attention moves meanwhile: the theorem's constant bbar is an approximation.
        effective = run["effective_tokens"]
        check(effective[0] > 15 and effective[-1] < 5, f"{effective[0]} to {effective[-1]}")
        check(np.ptp(run["logit_sum"]) < 1e-12, "sum of logits")


def test_the_present_mean_attention_would_not_do():
    """With bbar(t) in the place of bbar the agreement is lost."""
    run = experiment("joma-figure2.cfg")
    v, z, x = run["V"][-1], run["z"][-1], run.problem["X"]
    weight = x * np.exp(z / 0.5)[:, None]
    bbar = (weight / weight.sum(axis=0)).mean(axis=1)
    squares = (v**2).sum(axis=1)
    prediction = squares - bbar * squares.sum()
    found = np.corrcoef(z, prediction)[0, 1]
    check(abs(found + 0.757) < 0.01, f"correlation {found}")


if __name__ == "__main__":
    run_all([test_logits_follow_the_weights, test_the_present_mean_attention_would_not_do])
