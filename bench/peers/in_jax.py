"""What the peers in JAX share: 64-bit numbers, flows by diffrax, ensembles of noisy runs."""

import diffrax
import jax
import jax.numpy as jnp
import peer

jax.config.update("jax_enable_x64", True)

FLOWS = ("jax", "diffrax")
NOISE = ("jax",)


def largest(errors):
    """The norm of popflow's steps: each entry of the state is to keep its tolerance. diffrax by itself
    takes the root of the mean square over the whole state."""
    return jnp.max(jnp.stack([jnp.abs(e).max() for e in jax.tree_util.tree_leaves(errors)]))


def solver(rhs, run, scales, **norm):
    """start -> (end, statistics): Dormand and Prince's steps, the tolerances of popflow's run. Its absolute
    one is atol times the natural scale of a field (`scales`, as the state), so diffrax, which has one
    for all, integrates each field in units of its scale."""
    steps = diffrax.PIDController(rtol=run.parameter("rtol"), atol=run.parameter("atol"), **norm)
    each = jax.tree_util.tree_map

    def drift(_t, x, _args):
        return each(lambda rate, scale: rate / scale, rhs(each(jnp.multiply, x, scales)), scales)

    def flow(start):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(drift), diffrax.Dopri5(), 0.0, run.t_end, None, each(jnp.divide, start, scales),
            stepsize_controller=steps, saveat=diffrax.SaveAt(t1=True), max_steps=None)
        return each(lambda y, scale: y[-1] * scale, found.ys, scales), found.stats

    return jax.jit(flow)


def flow(problem, limit=1e-6, **norm):
    """The work of a flow. `problem(run)` is its right-hand side, its start, popflow's fields as functions of
    the state, by name, and the natural scales of the state."""
    def work(checked, timed):
        rhs, start, fields, scales = problem(checked)
        end, _ = solver(rhs, checked, scales, **norm)(start)
        agreement = peer.Agreement()
        for name, field in fields.items():
            agreement.close(name, field(end), checked.end(name), checked.start(name), limit)
        rhs, start, _, scales = problem(timed)
        solve = solver(rhs, timed, scales, **norm)
        _, statistics = solve(start)  # compiles
        peer.serve(lambda: jax.block_until_ready(solve(start)), agreement, FLOWS,
                   steps=int(statistics["num_steps"]))

    return work


def noise(problem, judged, ensemble=jax.lax.map, generator="unsafe_rbg", shorter=1):
    """The work of noisy runs. `problem(run)` makes of a key and a number of steps a run's last state, a
    dictionary of popflow's fields; `judged(state)` are the numbers, by name, whose law must be
    popflow's. `ensemble` is side_by_side or, where one run alone keeps the cores busy, one after the
    other. `generator` is XLA's Philox, or JAX's own threefry2x32, whichever is faster. What is
    timed are `shorter` times fewer steps than popflow takes."""
    def runs(run, steps):
        path = problem(run)
        keys = jax.random.split(jax.random.key(1, impl=generator), run.parameter("runs"))
        compiled = jax.jit(lambda keys: ensemble(lambda key: path(key, steps), keys))
        return lambda: jax.block_until_ready(compiled(keys))

    def work(checked, timed):
        ends = runs(checked, checked.steps())()
        popflows = {name: jnp.asarray(checked.end(name)) for name in ends}
        agreement = peer.Agreement()
        ours, theirs = (jax.vmap(judged)(x) for x in (ends, popflows))
        for name in ours:
            agreement.alike(name, ours[name], theirs[name])
        repeat = runs(timed, timed.steps() // shorter)
        repeat()  # compiles
        peer.serve(repeat, agreement, NOISE, part=1 / shorter)

    return work


def steps_of(run, velocity):
    """steps(start, keys): the state after a step of the run's update rule for each key, along
    velocity(x, key); momentum and Adam are optax's."""
    name, rate = run.parameter("optimizer"), run.parameter("learning-rate")
    if name == "sgd":
        def plain(x, key):
            return jax.tree_util.tree_map(lambda a, v: a + rate * v, x, velocity(x, key)), None

        return lambda start, keys: jax.lax.scan(plain, start, keys)[0]
    import optax

    rule = {"momentum": lambda: optax.sgd(rate, momentum=run.parameter("momentum")),
            "adam": lambda: optax.adam(rate, *run.betas(), run.parameter("epsilon"))}[name]()

    def step(carry, key):
        x, moments = carry
        down = jax.tree_util.tree_map(jnp.negative, velocity(x, key))
        change, moments = rule.update(down, moments, x)
        return (optax.apply_updates(x, change), moments), None

    return lambda start, keys: jax.lax.scan(step, (start, rule.init(start)), keys)[0][0]


def side_by_side(path, keys):
    return jax.vmap(path)(keys)
