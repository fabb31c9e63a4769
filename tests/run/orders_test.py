#!/usr/bin/python3
# label: nightly
"""popflow compare --learning-rates finds orders of significant errors, also if one standard error
is 0."""

from runs import Folder, check, h5py, popflow, run_all

# At the largest learning rate the run is a single step, after which signal_A has the same value in
# all runs.
COARSE = ["--vocab-size", 3, "--context-length", 3, "--sparsity", 1, "--problem-seed", 2,
          "--transition-concentration", 0.3, "--rungs", "flow,sgd", "--learning-rates", "0.4,0.2,0.1",
          "--batch-size", 1, "--t-end", 0.4, "--saves", 2, "--runs", 20000]


def test_an_order_is_fitted_if_one_standard_error_is_zero():
    with Folder() as folder:
        told = popflow("compare", "scb", *COARSE, "-o", "orders.h5", folder=folder, code=0).out
        with h5py.File(f"{folder}/orders.h5") as file:
            of = file["comparison"]
            errors, widths = of["signal_A_mean_weak_error"][0], of["signal_A_mean_weak_error_std"][0]
            check(widths[0] == 0 and (widths[1:] > 0).all(), widths)
            check((abs(errors) > 4 * widths).all(), (errors, widths))
            words = of["signal_A_mean_fit"].attrs["flag_meanings"].split()
            check(words[of["signal_A_mean_fit"][0]] == "fitted", told)
            # The flow's error against SGD has order 1.
            low, high = of["signal_A_mean_order_low"][0], of["signal_A_mean_order_high"][0]
            check(low < 1 < high and high - low < 1.5, (low, high))
            check(abs(of["signal_A_mean_order"][0] - 1) < 0.4, of["signal_A_mean_order"][0])
        check("signal_A" in told and "no significant error" in told, told)


if __name__ == "__main__":
    run_all()
