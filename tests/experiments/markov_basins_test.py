#!/usr/bin/python3
# label: long
"""Checks the claims of data/experiments/markov-basins*.cfg: every start against the exact table."""

from experiment import check, experiment, np
from runs import run_all

SADDLE, SADDLE_ENERGY = -np.sqrt(0.5), -(1 + np.log(2)) / 2


def energy_of(w, e):
    with np.errstate(divide="ignore"):
        return e**2 - w**2 - np.sign(w) * np.log(np.abs(w))


def ends_locally(w, e, p, q):
    """Returns where the flow ends at a local minimum by the exact table, for e != 0 and off the
    separatrix."""
    below = (w < 0) & (energy_of(w, e) < SADDLE_ENERGY)
    if p + q < 1:
        return below & (w < SADDLE)
    return (w >= 0) | below & (w > SADDLE)


def check_basins(config):
    sweep = experiment(config)
    check(sweep.axes == ["w0", "e0"] and sweep["loss"].shape == (400, 400), "the grid")
    w, e = sweep["w0"][:, None], sweep["e0"][None, :]
    local = ends_locally(w, e, sweep.parameters["p"], sweep.parameters["q"])
    # The table does not apply to starts on the separatrix (up to rounding); this grid has none.
    told = ~((w < 0) & (np.abs(energy_of(w, e) - SADDLE_ENERGY) < 1e-9))
    check(told.all(), f"{np.count_nonzero(~told)} starts on the separatrix")
    check(5000 < np.count_nonzero(local) < 155000, "one basin is nearly empty")
    check(np.all(sweep.is_word("outcome", "local") == local), "wrong outcomes: local")
    check(np.all(sweep.is_word("outcome", "global") == ~local), "wrong outcomes: global")
    # The losses of the final states confirm the outcomes.
    rate, entropy = sweep["entropy_rate"], sweep["stationary_entropy"]
    left = (sweep["loss"] - rate) / (entropy - rate)
    check(np.all(np.abs(left[local] - 1) < 1e-6), "loss of local minima")
    check(np.all(np.abs(left[~local]) < 1e-6), "loss of global minima")
    check(np.all(np.abs(sweep["e"][local]) < 1e-6), "e of local minima")
    return sweep


def test_basins_of_a_correlated_chain():
    sweep = check_basins("markov-basins.cfg")
    check(sweep.parameters["p"] + sweep.parameters["q"] < 1, "not correlated")
    # The standard small start lies near the origin.
    check(sweep.is_word("outcome", "global")[200:210, :10].all(), "small starts")


def test_basins_of_an_alternating_chain():
    sweep = check_basins("markov-basins-alternating.cfg")
    check(sweep.parameters["p"] + sweep.parameters["q"] > 1, "not alternating")
    check(sweep.is_word("outcome", "local")[200:210, :10].all(), "small starts")
    left = sweep["w0"] < SADDLE
    check(sweep.is_word("outcome", "global")[left].all(), "left of the saddle")


def test_sgd_blurs_the_boundary():
    sweep = experiment("markov-basins-sgd.cfg")
    check(list(sweep["batch_size"]) == [1, 4, 16], "batch sizes")
    w, e = sweep["w0"][:, None], sweep["e0"][None, :]
    above = ~ends_locally(w, e, sweep.parameters["p"], sweep.parameters["q"])
    distance = energy_of(w, e) - SADDLE_ENERGY
    ends = sweep["fraction_of_global"] + sweep["fraction_of_local"]
    check(np.all(ends >= 0.75) and ends.mean() > 0.98, "runs that have not decided")
    fraction = sweep["fraction_of_global"] / ends
    near = np.abs(distance) < 0.25
    misplaced = np.abs(fraction - above)
    for batch, low, high in ((0, 0.08, 0.25), (1, 0.03, 0.12), (2, 0.01, 0.08)):
        one = fraction[batch]
        # The fraction of global ends changes gradually from 1 above the boundary to 0 below, over a
        # width that shrinks with the batch size.
        check(one[near & above].min() < 1 and one[near & ~above].max() > 0, f"{batch}: sharp")
        check(low < misplaced[batch][near].mean() < high,
              f"{batch}: {misplaced[batch][near].mean()}")
        check(one[near & above].mean() > 0.85 and one[near & ~above].mean() < 0.3,
              f"{batch}: no boundary")
    far = np.abs(distance) > 0.5
    check(np.all(fraction[1:][:, far] == above[far]), "far starts, B = 4 and 16")
    check(0 < misplaced[0][far].mean() < 0.05, f"far starts, B = 1: {misplaced[0][far].mean()}")
    blur = misplaced.mean(axis=(1, 2))
    check(blur[0] > 2 * blur[1] and blur[1] > 1.5 * blur[2], f"{blur}")


if __name__ == "__main__":
    run_all()
