"""Population dynamics of transformer training, from Python.

    import popflow

    run = popflow.run("scb", vocab_size=10, output="two-stages.h5")
    run.excess_loss.plot(xscale="log", yscale="log")
    run.time_of.boosted

The package runs the program `popflow` and opens its files as xarray objects. `popflow.systems`
lists the systems, and `help(popflow.systems.scb.run)` the options of one. `popflow.analysis` turns
maps into numbers with uncertainties, and `popflow.model` makes a system from a loss.
"""

from . import needs as _needs  # first: reports missing packages

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
from .folder import folder
from .opening import open_file as open
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
    from .missing import SUBPACKAGES, attribute_error
    if name in SUBPACKAGES:
        from importlib import import_module
        return import_module(f".{name}", __name__)
    raise attribute_error(__name__, name, __dir__())


def __dir__() -> list[str]:
    from .missing import SUBPACKAGES
    return sorted([*__all__, *SUBPACKAGES])
