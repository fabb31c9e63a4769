"""Gradients of formulas as the two compilers of models derive them, evaluated without compiling."""

import casadi as ca
import numpy as np

from popflow.model.derive.reverse import gradient
from popflow.model.derive.rules import Rules
from popflow.model.emit.lowering import Lowering
from popflow.model.symbols import Symbol, evaluate, in_order


def unrolled(formula, weights, values, second=False):
    """Returns the value and the gradients of a scalar by CasADi; with `second`, the Jacobian of the
    gradient, too."""
    lowering = Lowering()
    parts = [ca.SX.sym(f"w{k}", one.size) for k, one in enumerate(weights)]
    for one, part in zip(weights, parts):
        lowering.leaf(one, part)
    value = lowering.entries(formula, "loss")
    x = ca.vertcat(*parts)
    slopes = ca.gradient(value, x)
    outputs = [value, slopes, *([ca.jacobian(slopes, x)] if second else [])]
    numbers = np.concatenate([np.ravel(one) for one in values])
    found = [np.array(one) for one in
             ca.Function("f", [x], lowering.with_shifts(outputs)).call([numbers])]
    ends = np.cumsum([one.size for one in weights])
    gradients = [part.reshape(one.shape)
                 for part, one in zip(np.split(found[1].ravel(), ends[:-1]), weights)]
    return (found[0].item(), gradients, *found[2:])


def in_matrices(formula, weights, values):
    """Returns the value and the gradients of a scalar by reverse differentiation of arrays, for a
    batch of one sample."""
    seed = Symbol("sample weight", (), (), "weight")
    loss, slopes = gradient(Rules("loss")(formula), weights, seed)
    known = {id(one): np.asarray(value, dtype=float) for one, value in zip(weights, values)}
    known[id(seed)] = np.array(1.0)
    for node in in_order([loss, *slopes]):
        if id(node) in known:
            continue
        args = [known[id(arg)] for arg in node.args]
        with np.errstate(all="ignore"):
            if node.op == "batch sum":
                value = args[0]
            elif node.op == "contract":
                value = args[0] @ args[1].T
            elif node.op == "scatter":
                value = np.zeros(node.shape).ravel()
                np.add.at(value, node.value, args[0].ravel())
            else:
                value = evaluate(node, args)
        value = np.asarray(value, dtype=float).ravel()
        known[id(node)] = np.broadcast_to(value, node.size).reshape(node.shape)
    return float(known[id(loss)]), [known[id(one)] for one in slopes]
