"""Population dynamics of transformer training, from Python.

    import popflow

    run = popflow.run("scb", vocab_size=10, output="two-stages.h5")
    run.excess_loss.plot(xscale="log", yscale="log")
    run.time_of.boosted

The package runs the program `popflow` and opens its files as xarray objects. `popflow.systems`
says what there is, `help(popflow.systems.scb.run)` with which options; `popflow.analysis` makes
numbers of maps.
"""

from . import needs as _needs  # first: tells what is missing

# isort: split
from . import accessors as _accessors  # registers .popflow and .time_of
from .axes import linear, logarithmic, sampled
from .commands import compare, compare_trajectories, merge, plan, resume, run, sweep, verify
from .errors import (
                     Diverged,
                     Error,
                     InputError,
                     Interrupted,
                     LimitReached,
                     NoProgram,
                     OutputError,
                     UsageError,
)
from .executable import program
from .figure import figure
from .files import open_file as open
from .folder import folder
from .phases import phases
from .systems import Systems as _Systems
from .version import __version__

systems = _Systems()

__all__ = ["Diverged", "Error", "InputError", "Interrupted", "LimitReached", "NoProgram",
           "OutputError", "UsageError", "__version__", "compare",
           "compare_trajectories", "figure", "folder", "linear", "logarithmic", "merge", "open",
           "phases", "plan", "program", "resume", "run", "sampled", "sweep", "systems", "verify"]

del _accessors, _needs


def __getattr__(name: str) -> object:
    if name == "analysis":  # its fits load SciPy, which most sessions do without
        from importlib import import_module
        return import_module(".analysis", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, "analysis"])
