# label: slow
"""The key of the cache of models holds everything on which a plug-in depends. Nothing here needs
CasADi or a compiler."""

import collections
import copy
import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popflow.model import Model, building, compilers, finite, key, mixture, normal, uniform
from popflow.model.laws import Law
from popflow.model.symbols import Symbol


def from_samples():
    m = Model("rich", "a model with most of the parts that samples allow", source="a paper")
    a = m.parameter("a", 1.5, "a number", low=0, high=3, sign="a")
    w = m.weights("w", np.ones(3) * a, "weights", sign="w", scale=2.0, axes=("unit",))
    v = m.weights("v", np.ones((2, 2)), "others")
    rows = m.array("rows", np.arange(12.0).reshape(4, 3), "inputs", axes=("sample", "unit"))
    x, y = m.data(finite(rows, np.arange(4.0), probability=np.arange(1.0, 5.0) * a))
    m.loss((w @ x - y) ** 2 + np.exp(v).sum() + m.learning_rate * m.step, floor=1e-3)
    mean = m.mean((w @ x > y) * 1.0)
    m.precondition(w, lambda d: w * d)
    m.projection(v, lambda d: d - d.mean())
    m.observable("height", w.sum() + mean, "a height", sign="h", floor=1e-9)
    m.invariant("kept", v.sum(), "a sum")
    m.event("halved", m.initial_loss / 2 - m.population, "half of the loss")
    m.constant("begin", m.initial_loss * a, "a constant")
    m.field("squares", w * w, "squares", axes=("unit",))
    m.passage("risen", w - 2.0, "risen weights", axes=("unit",))
    m.outcome("high", w.sum() > 3, "high")
    m.final("last", w[0], "the last")
    m.note("a note")
    m.end, m.first_stage_time = 7.0, 0.25
    m.figure, m.figure_of_sweeps, m.equations = "height", "last", "dw/dt = ..."
    return m


def from_other_laws():
    m = Model("laws", "a model of other laws")
    w = m.weights("w", np.zeros(2), "weights")
    x, k = m.data(normal(2, covariance=[[2.0, 0.5], [0.5, 1.0]], mean=[1.0, 0.0]),
                  mixture(uniform(-1, 2), normal(mean=1.0), probability=[0.25, 0.75]))
    m.loss((w @ x - k) ** 2)
    m.quadrature(5)
    return m


def from_equations():
    m = Model("equations", "a model by equations")
    x, y = m.weights("x", 1.0, "x"), m.weights("y", 1.0, "y")
    m.rate(x, -x)
    m.rate(y, -2 * y)
    m.solution(x, np.exp(-m.time))
    m.solution(y, np.exp(-2 * m.time))
    m.noise(factor=np.eye(2) * x)
    m.observable("sum", x + y, "a sum")
    t = m.training(limit="finite size")
    u = t.weights("u", np.ones(3), "weights")
    s = t.data(finite(np.eye(3), sampling="epochs"))
    t.loss((u @ s) ** 2)
    t.observable("sum", u.sum(), "a sum")
    return m


def in_overlaps():
    """A model whose means keep the forms that they see."""
    m = Model("overlaps", "a key")
    w = m.weights("w", np.ones((2, 9)), "weights")
    x = m.data(normal(9))
    m.loss(np.abs(w @ x - x[0]).sum())
    return m.overlaps()


MAKERS = (from_samples, from_other_laws, from_equations)


def of(model):
    return key.key_of(model)


def contents(model):
    """The part of the key that differs between models; faster than the whole key."""
    made = key.Contents()
    made.add(model)
    return made.made.hexdigest()


def members(value):
    """Names, values and setters of what an object of the package holds; independent of key.py."""
    if isinstance(value, Symbol):
        names = [name for name in Symbol.__slots__ if not name.startswith("_")]
        return [(name, getattr(value, name), lambda new, n=name: setattr(value, n, new))
                for name in names]
    if isinstance(value, Model) or dataclasses.is_dataclass(value):
        return [(name, one, lambda new, n=name: object.__setattr__(value, n, new))
                for name, one in list(vars(value).items())]
    if isinstance(value, dict):
        return [(name, one, lambda new, n=name: value.__setitem__(n, new))
                for name, one in list(value.items())]
    if isinstance(value, list):
        return [(i, one, lambda new, i=i: value.__setitem__(i, new))
                for i, one in enumerate(value)]
    return []


def others_of(value):
    """Values that differ a little from a value."""
    if isinstance(value, (bool, np.bool_)):
        yield not value
    elif isinstance(value, (int, float, np.generic)):
        yield value + 1
        yield type(value)(-value) if value else -1
    elif isinstance(value, str):
        yield value + "x"
    elif value is None:
        yield 1.5
    elif isinstance(value, np.ndarray) and value.size and value.dtype != object:
        yield value.reshape(-1, 1)
        for place in {0, value.size - 1}:
            changed = value.copy()
            changed.ravel()[place] += 1 if value.dtype != bool else 0
            if value.dtype == bool:
                changed.ravel()[place] ^= True
            yield changed
    elif isinstance(value, tuple) and value:
        yield value + value[:1]
        yield value[:-1]
        if len(value) > 1 and value[0] is not value[1]:
            yield (value[1], value[0], *value[2:])
    elif isinstance(value, list) and value:
        yield value[:-1]
        if len(value) > 1:
            yield [value[1], value[0], *value[2:]]
    elif isinstance(value, dict) and value:
        names = list(value)
        yield {name: value[name] for name in names[:-1]}
        if len(names) > 1:  # what belongs to one belongs to the other
            yield {**value, names[0]: value[names[1]], names[1]: value[names[0]]}


@pytest.mark.parametrize("make", MAKERS)
def test_each_ingredient_of_a_model_is_part_of_its_key(make):
    model = make()
    before, seen, changes = contents(model), set(), 0
    kinds = collections.Counter()
    waiting = [("model", model)]
    while waiting:
        path, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kinds[getattr(value, "op", "")] += 1
        if isinstance(value, Symbol) and kinds[value.op] > 2:  # two of each kind are enough
            waiting.extend((f"{path}.args", arg) for arg in value.args)
            continue
        for name, held, put in members(value):
            at = f"{path}.{name}"
            if isinstance(held, tuple):
                waiting.extend((f"{at}[{i}]", one) for i, one in enumerate(held))
            waiting.append((at, held))
            for new in others_of(held):
                put(new)
                assert contents(model) != before, f"{at}: {held!r} and {new!r} have the same key"
                put(held)
                changes += 1
    assert contents(model) == before
    assert changes > 100


def swapped(name):
    """A model by equations in which two weights exchange what belongs to them."""
    m = from_equations()
    one, other = (row.symbol for row in m.fields)
    of_weights = getattr(m, name)
    of_weights[id(one)], of_weights[id(other)] = of_weights[id(other)], of_weights[id(one)]
    return m


def changed(change, make=from_samples):
    m = make()
    change(m)
    return m


def test_models_that_differ_in_one_declaration_have_different_keys():
    def law(**changes):
        return lambda m: [setattr(m.laws[0][0], name, value) for name, value in changes.items()]

    models = [*(make() for make in MAKERS), swapped("rates"), swapped("solutions"),
              changed(lambda m: m.quadrature(4), from_other_laws),
              changed(law(mean=np.array([1.0, 0.1])), from_other_laws),
              changed(law(root=np.eye(2)), from_other_laws),
              changed(law(epochs=True)), changed(lambda m: m.note("another")),
              changed(lambda m: setattr(m, "end", None)),
              changed(lambda m: setattr(m.fields[0], "axes", ("other",))),
              changed(lambda m: setattr(m.other_state, "limit", ""), from_equations),
              changed(lambda m: setattr(m.other_state.laws[0][0], "epochs", False),
                      from_equations)]
    assert len({of(model) for model in models}) == len(models)


def exchanged_maps(swap):
    m = Model("maps", "two maps")
    w, v = m.weights("w", np.ones(2), "w"), m.weights("v", np.ones(2), "v")
    x = m.data(finite(np.eye(2)))
    m.loss((w @ x) ** 2 + (v @ x) ** 2)
    for one in (v, w) if swap else (w, v):
        m.precondition(one, lambda d: 2 * d)
    m.projection(v if swap else w, lambda d: d - d.mean())
    return m


def test_the_weights_to_which_a_map_belongs_are_part_of_the_key():
    assert of(exchanged_maps(False)) != of(exchanged_maps(True))


@pytest.mark.parametrize("make", [*MAKERS, in_overlaps])
def test_equal_models_have_equal_keys_in_every_process(make):
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import model_key_test as t; "
            f"print(t.of(t.{make.__name__}()))")
    keys = {subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], text=True,
                           env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH":
                                os.pathsep.join([str(Path(building.__file__).parents[2]),
                                                 os.environ.get("PYTHONPATH", "")])},
                           capture_output=True, check=True).stdout for seed in ("1", "2")}
    assert keys == {of(make()) + "\n"}


def test_a_value_of_an_unknown_kind_is_never_taken_for_another():
    m = from_samples()
    m.extra = object()
    assert of(m) != of(m)


class Variant(Model):
    """A user's own class of models."""


def test_subclasses_of_models_and_laws_have_keys():
    def made(end):
        m = Variant("own", "a user's class")
        m.end = end
        return m
    assert of(made(1.0)) == of(made(1.0)) != of(made(2.0))
    assert copy.deepcopy(Law("normal")) == Law("normal")


def test_the_key_holds_what_surrounds_the_model(monkeypatch, tmp_path):
    """Versions, machine, compiler, flags, headers and the text of the script."""
    model = from_equations()

    def whole(*others):
        return key.key_of(model, *others, compilers.compiler().key(), compilers.digest_of_headers())

    wrapper = tmp_path / "wrapper"
    wrapper.write_text("#!/bin/sh\necho a compiler 12.2\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("POPFLOW_CXX", str(wrapper))
    keys = [whole(), whole("a script")]
    assert whole() == keys[0]

    def see(change):
        with monkeypatch.context() as patch:
            change(patch)
            keys.append(whole())

    see(lambda p: p.setattr(key, "version", lambda package: "0.0"))
    see(lambda p: p.setattr(np, "__version__", "9.9"))
    see(lambda p: p.setattr(key.platform, "machine", lambda: "riscv64"))
    see(lambda p: p.setattr(key.os, "confstr", lambda name: "glibc 2.99"))
    see(lambda p: p.setattr(compilers, "FLAGS", (*compilers.FLAGS, "-O3")))
    see(lambda p: p.setenv("CPATH", "/somewhere"))
    see(lambda p: p.setenv("POPFLOW_CXX", f"{wrapper} --option"))
    wrapper.write_text("#!/bin/sh\necho a compiler 12.2 # -ffast-math\n")
    keys.append(whole())

    for header in compilers.needed_headers():
        copied = tmp_path / "include" / header.relative_to(compilers.headers())
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(header.read_bytes())
    monkeypatch.setattr(compilers, "headers", lambda: tmp_path / "include")
    assert whole() == keys[-1]
    for header in compilers.needed_headers():
        text = header.read_bytes()
        header.write_bytes(text + b"\n")
        keys.append(whole())
        header.write_bytes(text)
    assert len(compilers.needed_headers()) > 10
    assert len(set(keys)) == len(keys)
