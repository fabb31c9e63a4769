"""Common parts of the claims about sparse contextual bigrams: the problem, and runs with noise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray

import popflow
from popflow.analysis import Estimate

#: The smallest problem: three tokens of which one is rare (mu = 0.10, 0.29, 0.61).
SMALL: dict[str, Any] = {"vocab_size": 3, "transition_concentration": 0.3, "problem_seed": 2,
                         "sparsity": 2}
SUPPORT = {"coordinates": "support"}
TWO_STAGES = {"schedule": "two-stage"}


def noisy(over: Any = None, **options: Any) -> xarray.Dataset:
    """Runs SGD, or a sweep of SGD over the axes `over` with the same samples in each cell. Some
    claims look for learning rates that are too large, and for columns without weights. So diverged
    runs raise no error, and warnings are off."""
    options = {"mode": "sgd", "state": "none", "show": False, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            if over is None:
                return popflow.run("scb", **options)
            return popflow.sweep("scb", over, **{"record": "series", "same_seed": True, **options})
        except popflow.Diverged as ended:
            return popflow.open(ended.path)


def completed(data: xarray.Dataset) -> xarray.DataArray:
    return data.popflow.words("status") == "complete"


def mean(values: Any) -> Estimate:
    """Returns the mean of independent values with its standard error."""
    values = np.ravel(values)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))),
                    len(values) - 1)


def flow(T: int, **options: Any) -> xarray.Dataset:
    return popflow.run("scb", context_length=T, **SUPPORT, **{"saves": 2, "show": False, **options})


def thresholded(T: int, **problem: Any) -> str:
    """Returns the file of a flow just after the threshold, where stage 2 begins."""
    switch = flow(T, **problem, **TWO_STAGES, t_end=100).time_of.stage2
    run = popflow.run("scb", **problem, **TWO_STAGES, context_length=T, saves=2, show=False,
                      t_end=switch + 0.05)
    return str(run.popflow.path)


def stage2_bound(mu: Any, T: int) -> float:
    """Returns the learning rate above which stage 2 is unstable: without the projection the sums of
    the attention relax at the rate T |mu|^2."""
    return 2 / (T * float((np.asarray(mu)**2).sum()))

def stands_out(runs: xarray.Dataset) -> xarray.DataArray:
    """Tells for each run whether the positions of Q have the largest final weights in every
    column."""
    places = runs.popflow.group("problem").Q_position
    weights = runs.A.isel(time_state=-1).transpose("run", "query", "position")
    largest = np.argsort(-weights.values, axis=-1)[..., :places.sizes["slot"]]
    wanted = np.sort(places.transpose("query", "slot").values, axis=-1)
    return xarray.DataArray((np.sort(largest, axis=-1) == wanted).all((-1, -2)), dims="run")
