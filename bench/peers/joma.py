"""`joma` with targets and exp attention, in reduced coordinates, in JAX: the flow by diffrax."""

import in_jax
import jax.numpy as jnp
import peer


def flow(run):
    goal, start = (jnp.asarray(x) for x in (run.problem("target"), run.start("v")))  # node, token
    factor = 1 / (2 * run.parameter("temperature")**2)

    def v(s):
        return goal - (goal - start) * jnp.exp(-s)

    def rhs(s):
        return jnp.exp(factor * (v(s)**2).sum(0) + run.parameter("offset"))

    def entropy(s):
        share = rhs(s) / rhs(s).sum()
        return -(share * jnp.log(share)).sum()

    # A change of v by the temperature multiplies the attention by a factor.
    longest = jnp.sqrt(((goal - start)**2).sum(0)).max()
    scale = jnp.minimum(1, run.parameter("temperature") / longest)
    return rhs, jnp.zeros(goal.shape[1]), {"v": v}, scale, {"attention_entropy": entropy}


peer.main({"flow": in_jax.flow(flow), "curves": in_jax.curves(flow), "flow-by-entry": in_jax.flow(flow, norm=in_jax.largest)})
