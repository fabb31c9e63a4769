# label: slow
"""Models compile with g++, clang and ziglang, and have the same digits."""

import shutil
import subprocess

import numpy as np
import pytest
from model_support import need_casadi

need_casadi()

import popflow  # noqa: E402
from popflow.model import (  # noqa: E402
    Model,
    compilers,
    cross_entropy,
    erf,
    finite,
    logsumexp,
    normal,
)

pytestmark = pytest.mark.usefixtures("own_cache")

ZIG = compilers.zig_program()
OTHERS = {"clang++": shutil.which("clang++"),
          "ziglang": ZIG and f"{ZIG} c++ -target x86_64-linux-gnu.{compilers.GLIBC} "
                             "-mcpu=baseline"}


READELF = shutil.which("readelf")


def needed(library):
    """Returns the shared libraries that a library loads."""
    listed = subprocess.run([READELF, "-d", library], check=True, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if "(NEEDED)" in line]


def functions():
    """Every elementary function of generated code."""
    m = Model("functions", "all functions")
    a = m.parameter("a", 0.7, "a number")
    w = m.weights("w", np.linspace(0.1, 0.9, 6), "weights")
    x, y = m.data(finite(np.linspace(-1, 1, 54).reshape(9, 6), np.arange(9.0)))
    z = w * x
    m.loss((np.exp(z) + np.log(1 + z * z) + np.sin(a * z) + np.cos(2 * z) + np.tanh(z) + erf(z)
            + np.sqrt(1 + z**2) + z**3 + (2 + z) ** 2.5 + np.maximum(z, 0.1) + np.abs(z)
            + np.where(z > 0, z, -z / 2) + np.arctan(z) + np.log1p(z * z) + np.expm1(z)
            + np.sinh(z) + np.cosh(z) + np.arcsinh(z) + np.arcsin(z / 4) + np.sign(z)
            ).sum() / 50 + logsumexp(z * y) / 9)
    m.field("squares", w * w + m.population, "squares and loss")
    m.event("fell", m.initial_loss * 0.99 - m.population, "the loss fell")
    return m


def matrices():
    """A model that keeps its matrices."""
    rng = np.random.default_rng(1)
    m = Model("matrices", "an associative memory of random facts")
    inputs, outputs = (rng.normal(size=(40, 24)) / 5 for _ in range(2))
    W = m.weights("W", np.zeros((24, 24)), "matrix")
    x, fact = m.data(finite(inputs, np.arange(40)))
    m.loss(cross_entropy(outputs @ np.tanh(W @ x), fact))
    return m


def drawn():
    m = Model("drawn", "normal data")
    w = m.weights("w", np.zeros(3), "weights")
    x = m.data(normal(3))
    m.loss(((w - 1) @ x) ** 2)
    return m


def numbers(make, monkeypatch, compiler):
    monkeypatch.setenv("POPFLOW_CXX", compiler)
    built = make().build(check=False)
    flow = popflow.run(built, t_end=1, saves=4, show=False)
    sgd = popflow.run(built, mode="sgd", learning_rate=0.1, batch_size=4, t_end=1, saves=4,
                      show=False)
    return [(name, run[name].values) for run in (flow, sgd) for name in sorted(run.data_vars)]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("make", [functions, matrices, drawn])
def test_models_have_the_same_digits_with_every_compiler(make, other, monkeypatch):
    if not OTHERS[other] or not shutil.which("g++"):
        pytest.skip(f"g++ or {other} is missing")
    of_gcc = numbers(make, monkeypatch, "g++")
    for (name, a), (_, b) in zip(of_gcc, numbers(make, monkeypatch, OTHERS[other]), strict=True):
        assert name.startswith("time_of") or np.array_equal(a, b, equal_nan=True), (name, a, b)


@pytest.mark.skipif(ZIG is None, reason="ziglang is missing")
def test_plugins_of_ziglang_need_the_c_library_alone(monkeypatch, tmp_path):
    """A model needs nothing from the system, and no compiling of ziglang's own libraries."""
    monkeypatch.delenv("POPFLOW_CXX", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    built = functions().build(check=False)
    assert popflow.run(built, t_end=1, show=False).loss[-1] < popflow.run(
        built, t_end=0.1, show=False).loss[0]
    size = sum(path.stat().st_size for path in tmp_path.glob("popflow/models/zig/**/*")
               if path.is_file())
    assert size < 5e6  # libc++ alone has 50 MB
    assert not any("c++" in library for library in needed(built.path))


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_plugins_do_not_need_the_c_plus_plus_library(monkeypatch):
    """Loading that library would take longer than loading the plug-in."""
    monkeypatch.setenv("POPFLOW_CXX", "g++")
    libraries = needed(drawn().build(check=False).path)
    assert libraries and not any("stdc++" in one or "libgcc" in one for one in libraries)
