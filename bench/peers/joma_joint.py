"""`joma-joint` (softmax, identity, cross-entropy) in JAX: the flow by diffrax, SGD, and the SDE.

Contexts are columns of token shares: the classes' shares in the flow, those of sampled contexts in SGD and
SDE. The same two products with V therefore serve all three.
"""

import draws
import in_jax
import jax
import jax.numpy as jnp
import peer


class Problem:
    """The problem in popflow's file, and the sampling of contexts."""

    def __init__(self, run):
        self.X, self.p = (run.problem(name) for name in ("X", "class_weight"))
        self.tau = run.parameter("temperature")
        self.length = run.parameter("context-length")
        self.batch = run.parameter("batch-size")
        self.rate = run.parameter("learning-rate")
        self.start = {name: jnp.asarray(run.problem(f"{name}0")) for name in "Vrz"}
        self.classes = [jnp.asarray(table) for table in draws.alias_table(self.p)]
        self.tokens = [jnp.asarray(table) for table in draws.alias_tables(self.X)]

    def draw(self, key, samples):
        """Returns the token shares of a batch's contexts, and their classes."""
        of_class, of_tokens = jax.random.split(key)
        c = drawn(of_class, (samples,), *self.classes)
        own, other = self.tokens
        u = jax.random.uniform(of_tokens, (self.length, samples)) * len(self.X)
        place = u.astype(jnp.int32)
        tokens = jnp.where(u - place < own[c, place], place, other[c, place])
        shares = jnp.zeros((len(self.X), samples)).at[tokens, jnp.arange(samples)].add(
            1 / self.length)
        return shares, jax.nn.one_hot(c, len(self.p), axis=0)

    def velocity(self, x, shares, own, weights):
        """Returns minus the gradient of the contexts' weighted loss.

        Contexts are columns of `shares` (tokens x contexts); `own` (nodes x contexts) holds their classes
        as one-hot columns.
        """
        e = shares * jnp.exp((x["z"] - x["z"].max()) / self.tau)[:, None]
        b = e / e.sum(0)
        h = x["V"].T @ b
        w = (own - jax.nn.softmax(h + x["r"][:, None], axis=0)) * weights
        dV = b @ w.T
        return {"V": dV, "r": w.sum(1), "z": ((x["V"] * dV).sum(1) - b @ (w * h).sum(0)) / self.tau}

    def drift(self, x):
        return self.velocity(x, self.X, jnp.eye(len(self.p)), self.p)

    def loss(self, x):
        """Returns the population's cross-entropy."""
        b = jax.nn.softmax(jnp.log(self.X) + (x["z"] / self.tau)[:, None], axis=0)
        logits = x["V"].T @ b + x["r"][:, None]
        return self.p @ (jax.nn.logsumexp(logits, axis=0) - jnp.diagonal(logits))


def drawn(key, shape, own, other):
    """Draws indices from an alias table."""
    u = jax.random.uniform(key, shape) * len(own)
    place = u.astype(jnp.int32)
    return jnp.where(u - place < own[place], place, other[place])


def moved(x, *steps):
    """Returns x plus steps, each a factor and a velocity."""
    return {name: x[name] + sum(h * v[name] for h, v in steps) for name in x}


def judged(x):
    return {"squares of V": (x["V"]**2).sum(), "squares of z": (x["z"]**2).sum(),
            "squares of r": (x["r"]**2).sum()}


def flow(run):
    problem = Problem(run)
    scales = {name: jnp.minimum(1, jnp.abs(problem.start[name]).max()) for name in "Vr"}
    scales["z"] = min(1, run.parameter("temperature"))
    return problem.drift, problem.start, {name: lambda x, name=name: x[name] for name in "Vrz"}, scales, {
        "loss": problem.loss}


def sgd(run):
    problem = Problem(run)

    def velocity(x, key):
        shares, own = problem.draw(key, problem.batch)
        return problem.velocity(x, shares, own, 1 / problem.batch)

    steps_along = in_jax.steps_of(run, velocity)
    return lambda key, steps: steps_along(problem.start, jax.random.split(key, steps))


def sde(run):
    """Euler-Maruyama steps of a tenth of the learning rate.

    The noise is a multiplier bootstrap of a batch of samples, drawn anew every ten steps.
    """
    problem = Problem(run)
    B, h = problem.batch, problem.rate / 10
    scale = (problem.rate * h / B / (B - 1))**0.5

    def stretch(x, key):
        of_samples, of_steps = jax.random.split(key)
        shares, own = problem.draw(of_samples, B)

        def step(x, zeta):
            noise = problem.velocity(x, shares, own, zeta - zeta.mean())
            return moved(x, (h, problem.drift(x)), (scale, noise)), None

        return jax.lax.scan(step, x, jax.random.normal(of_steps, (10, B)))[0], None

    return lambda key, steps: jax.lax.scan(stretch, problem.start,
                                           jax.random.split(key, steps // 10))[0]


peer.main({"flow": in_jax.flow(flow), "curves": in_jax.curves(flow), "flow-by-entry": in_jax.flow(flow, norm=in_jax.largest),
           "sgd": in_jax.noise(sgd, judged), "sde": in_jax.noise(sde, judged)})
