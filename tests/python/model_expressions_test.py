# label: fast
"""Random formulas have in models NumPy's values and the derivatives of finite differences."""

from model_support import need_casadi

need_casadi()

from random_expressions import check  # noqa: E402

FORMULAS = 150


def test_random_formulas_have_numpys_values_and_right_derivatives():
    assert sum(check(seed) for seed in range(FORMULAS)) > FORMULAS / 3
