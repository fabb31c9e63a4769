"""Result of `popflow verify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray


@dataclass(frozen=True, repr=False)
class Verification:
    """Checks of a system's declarations against its behaviour; true if all checks pass.

    `checks` has a row per check along the dimension `check`: its `verdict` (ok, fails, skipped),
    the `measured` number and the `allowed` bound (a lower bound if `at_least` is true). A `note`
    explains the number. `table` shows the checks as text.
    """

    system: str
    holds: bool
    checks: xarray.Dataset
    table: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Verification:
        rows = told["checks"]
        columns = {name: ("check", [row[name] for row in rows])
                   for name in ("verdict", "at_least", "note")}
        numbers = {name: ("check", [float("nan") if row[name] is None else row[name]
                                    for row in rows]) for name in ("measured", "allowed")}
        checks = xarray.Dataset({**columns, **numbers},
                                coords={"check": [row["name"] for row in rows]})
        return cls(told["system"], told["holds"], checks, told["table"])

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return self.table.rstrip("\n")
