#!/usr/bin/python3
# The claims of the experiments with joma-joint, as numbers.
# label: fast

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))

from runs import Folder, attribute, check, h5py, np, popflow, run_all

EXPERIMENTS = os.path.join(os.environ["POPFLOW_SOURCE_DIR"], "data", "experiments")


def run(name, folder, *args):
    """Runs a configuration as its first line says, from the top of the source tree."""
    config = os.path.join(EXPERIMENTS, name)
    with open(config) as text:
        first = text.readline().split()
    check(first[:4] == ["#", "popflow", "run", "joma-joint"], f"{name} begins with {first}")
    check(first[4:] == ["--config", f"data/experiments/{name}"], f"{name} names {first[4:]}")
    path = os.path.join(folder, "run.h5")
    popflow("run", "joma-joint", "--config", config, *args, "--force", "-o", path, code=0)
    return h5py.File(path)


def test_logits_follow_the_weights():
    """Figures 2 and 3: the correlation stays near 1; for other draws of the problem, too."""
    for seed in range(1, 5):
        with Folder() as folder, run("joma-figure2.cfg", folder, "--problem-seed", seed) as file:
            check(attribute(file.filename, "status") == "complete", "it does not end")
            check(int(np.sum(file["statistics/accepted_steps"])) == 2000, "not 2000 steps")
            correlation = file["correlation"][()]
            check(correlation.min() > 0.98, f"seed {seed}: {correlation.min()}")
            check(correlation[-1] > 0.99, f"seed {seed}: {correlation[-1]}")
            # Neither term alone does as well.
            check(np.all(file["correlation_weights"][()] <= correlation), "weights alone")
            check(np.all(file["correlation_norm"][()] <= correlation), "norm alone")
            # The attention moves meanwhile: the theorem's constant bbar is an approximation.
            effective = file["effective_tokens"][()]
            check(effective[0] > 15 and effective[-1] < 5, f"{effective[0]} to {effective[-1]}")
            check(np.ptp(file["logit_sum"][()]) < 1e-12, "sum of logits")


def test_the_present_mean_attention_would_not_do():
    """With bbar(t) in the place of bbar the agreement is lost."""
    with Folder() as folder, run("joma-figure2.cfg", folder) as file:
        v, z, x = file["V"][-1], file["z"][-1], file["problem/X"][()]
        weight = x * np.exp(z / 0.5)[:, None]
        bbar = (weight / weight.sum(axis=0)).mean(axis=1)
        squares = (v**2).sum(axis=1)
        prediction = squares - bbar * squares.sum()
        found = np.corrcoef(z, prediction)[0, 1]
        check(found < 0.5, f"correlation {found}")


if __name__ == "__main__":
    run_all([test_logits_follow_the_weights, test_the_present_mean_attention_would_not_do])
