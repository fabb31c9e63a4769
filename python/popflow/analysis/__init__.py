"""Estimates from maps: thresholds, powers, medians and boundaries, each with its uncertainty.

All functions take plain arrays or xarray.DataArrays. They work along the last axis of plain arrays,
and along the dimension of the first argument of DataArrays. Further dimensions are kept.
"""

from .boundary import boundaries
from .estimate import Estimate
from .line import Line, line, log_line
from .logistic import Logistic, logistic
from .median import Median, median
from .power import PowerLaw, power_law
from .spearman_kaerber import spearman_kaerber
from .threshold import LinearThreshold, Threshold

__all__ = ["Estimate", "Line", "LinearThreshold", "Logistic", "Median", "PowerLaw", "Threshold",
           "boundaries", "line", "log_line", "logistic", "median", "power_law", "spearman_kaerber"]
