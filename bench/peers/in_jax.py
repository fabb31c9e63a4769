"""What the peers in JAX share: 64-bit numbers, flows by diffrax, ensembles of noisy runs."""

import functools

import diffrax
import jax
import jax.numpy as jnp
import peer

jax.config.update("jax_enable_x64", True)
# XLA's own generator (Philox): several times as fast here as JAX's default.
jax.config.update("jax_default_prng_impl", "unsafe_rbg")

FLOWS = ("jax", "diffrax")
NOISE = ("jax",)


def largest(errors):
    """The norm of popflow's steps: each entry of the state is to keep its tolerance. diffrax by itself
    takes the root of the mean square over the whole state."""
    return jnp.max(jnp.stack([jnp.abs(e).max() for e in jax.tree_util.tree_leaves(errors)]))


def solver(rhs, run, **norm):
    """start -> (end, statistics): Dormand and Prince's steps, the tolerances of popflow's run."""
    steps = diffrax.PIDController(rtol=run.parameter("rtol"), atol=run.parameter("atol"), **norm)

    def flow(start):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda _t, x, _args: rhs(x)), diffrax.Dopri5(), 0.0, run.t_end, None,
            start, stepsize_controller=steps, saveat=diffrax.SaveAt(t1=True), max_steps=None)
        return jax.tree_util.tree_map(lambda y: y[-1], found.ys), found.stats

    return flow


def serve_flow(rhs, start, checked, timed, limit=1e-6, **norm):
    """Times a flow whose state is a dictionary of popflow's fields."""
    agreement = peer.Agreement()
    end, statistics = jax.jit(solver(rhs, checked, **norm))(start)
    for name in start:
        agreement.close(name, end[name], checked.end(name), checked.start(name), limit)
    flow = jax.jit(solver(rhs, timed, **norm))
    jax.block_until_ready(flow(start))  # compiles
    peer.serve(lambda: jax.block_until_ready(flow(start)), agreement, FLOWS,
               steps=int(statistics["num_steps"]))


def serve_noise(path, judged, checked, timed, ensemble=jax.lax.map):
    """Times `path(key, steps)`, a run's state at its end. `judged(state)` are the numbers, by name, whose
    law over runs must be popflow's; `ensemble` is jax.vmap or, where a run alone keeps the cores busy,
    one after the other."""
    def runs(like):
        one = functools.partial(path, steps=like.steps())
        keys = jax.random.split(jax.random.key(1), like.parameter("runs"))
        compiled = jax.jit(lambda keys: ensemble(one, keys))
        return lambda: jax.block_until_ready(compiled(keys))

    agreement = peer.Agreement()
    ends = runs(checked)()
    for name, values in jax.vmap(judged)(ends).items():
        popflows = jax.vmap(judged)({field: jnp.asarray(checked.end(field)) for field in ends})
        agreement.alike(name, values, popflows[name])
    work = runs(timed)
    work()  # compiles
    peer.serve(work, agreement, NOISE)
