# label: slow
"""The models of examples/models: each against its exact solution, with the order of convergence."""

import sys
from pathlib import Path

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))

import associative_memory  # noqa: E402
import committee  # noqa: E402
import diagonal_linear  # noqa: E402
import glm_sgd  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def test_margins_of_associative_memory_obey_their_equation():
    system = associative_memory.model().build()
    run = popflow.run(system, t_end=100, rtol=1e-10, saves=11)
    assert associative_memory.check(run) < 1e-8
    # Fixed steps of rk4: the error falls with the fourth power of the step.
    errors = [associative_memory.check(popflow.run(system, t_end=8, method="rk4", dt=dt, saves=2))
              for dt in (1.0, 0.5, 0.25)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 4) < 0.5).all(), (errors, orders)


def test_diagonal_networks_conserve_uv_and_minimise_the_hyperbolic_entropy():
    system = diagonal_linear.model().build()
    run = popflow.run(system, t_end=200, rtol=1e-11)
    assert np.abs(run.u * run.v - 0.1**2).max() < 1e-9
    best = diagonal_linear.entropy_minimiser()
    assert np.abs(run.beta.values[-1] - best).max() < 1e-6
    # SGD's limit is another interpolator, of larger entropy.
    end = popflow.run(system, mode="sgd", learning_rate=0.02, batch_size=1, t_end=200, seed=1)
    inputs, outputs = diagonal_linear.data()
    beta = end.beta.isel(time=-1).values.reshape(-1)
    assert np.abs(inputs @ beta - outputs).max() < 1e-4
    assert np.abs(beta - best).max() > 1e-4
    entropy = diagonal_linear.hyperbolic_entropy
    assert entropy(beta) > entropy(best), (entropy(beta), entropy(best))


def test_diagonal_networks_with_orthogonal_data_are_solved_coordinate_by_coordinate():
    run = popflow.run(diagonal_linear.model(orthogonal=True).build(), t_end=3, rtol=1e-11, saves=4)
    for t in run.time.values[1:]:
        exact = diagonal_linear.exact_beta(float(t))
        assert np.abs(run.beta.sel(time=t).values - exact).max() < 1e-8


def test_a_committee_stays_at_its_teacher_and_follows_finite_sgd():
    system = committee.model().build()
    run = popflow.run(system, t_end=2, rtol=1e-9, saves=2)
    size, runs = 200, 40
    found = [committee.simulated(size, 2, 1.0, seed) for seed in range(runs)]
    for name, place in (("Q", 0), ("R", 1)):
        values = np.array([one[place] for one in found])
        error = values.std(axis=0, ddof=1) / np.sqrt(runs)
        # Four standard errors (eight comparisons: error rate 5e-4), and the bias of 1/N.
        off = np.abs(values.mean(axis=0) - run[name].values[-1])
        assert (off < 4 * error + 2 / size).all(), (name, off, error)
    q, r = committee.rates(committee.T, committee.T, 1.0)
    assert np.abs(q).max() < 1e-15 and np.abs(r).max() < 1e-15


def test_least_squares_in_high_dimension_have_an_exponential_risk_and_a_largest_rate():
    system = glm_sgd.least_squares().build()
    run = popflow.run(system, t_end=5, rtol=1e-11)
    assert np.abs(run.D - glm_sgd.exact_distance(run.time)).max() < 1e-9
    stable, unstable = (popflow.run(system, gamma=gamma, sigma=0, t_end=20)
                        for gamma in (1.99, 2.01))
    assert stable.risk[-1] < stable.risk[0] and unstable.risk[-1] > unstable.risk[0]
    # Fixed steps of rk4 converge with order 4.
    errors = [abs(float(popflow.run(system, t_end=4, method="rk4", dt=dt, saves=2).D[-1])
                  - glm_sgd.exact_distance(4)) for dt in (1.0, 0.5, 0.25)]
    assert (np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 4) < 0.5).all(), errors


def test_phase_retrieval_follows_its_order_parameters():
    run = popflow.run(glm_sgd.phase_retrieval().build(), t_end=4, rtol=1e-9, saves=2)
    size, runs = 200, 60
    found = np.array([glm_sgd.simulated(size, 4, 0.05, seed) for seed in range(runs)])
    error = found.std(axis=0, ddof=1) / np.sqrt(runs)
    # Four standard errors (two comparisons: error rate 1e-4), and the bias of 1/d.
    off = np.abs(found.mean(axis=0) - [float(run.rho[-1]), float(run.overlap[-1])])
    assert (off < 4 * error + 2 / size).all(), (off, error)
