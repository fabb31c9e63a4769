#!/usr/bin/python3
# label: fast
"""Checks the claim of data/experiments/scb-boosting-time.cfg: stage 1 lasts about log T."""

from experiment import check, experiment, np
from runs import run_all


def test_the_boosting_time_grows_with_log_t():
    sweep = experiment("scb-boosting-time.cfg")
    boosted, large = sweep["time_of_boosted"], sweep["context_length"] >= 1e6
    check(np.isfinite(boosted).all(), "some are not boosted")
    rate = np.sqrt(sweep["kappa"] * sweep["K_P"])
    for n, tokens in enumerate(sweep["vocab_size"]):
        log_t = np.log(sweep["context_length"][large])
        slope, start = np.polyfit(log_t, boosted[large, n], 1)
        expected = 1 / rate[-1, n]
        # Check the line's slope against the rate, and every point against the line.
        check(abs(slope / expected - 1) < 1e-5, f"N = {tokens}: {slope} and {expected}")
        off = np.abs(boosted[large, n] - start - slope * log_t).max()
        check(off < 5e-4, f"N = {tokens}: {off} off the line")
        least = start + slope * np.log(sweep["context_length"][0])
        check(0.01 < boosted[0, n] / least - 1 < 0.06, f"N = {tokens}: at T = 100")
    ten = list(sweep["vocab_size"]).index(10)
    decade = (boosted[-1, ten] - boosted[4, ten]) / 6
    check(abs(decade - 6.474) < 0.002, f"{decade} a decade")


run_all()
