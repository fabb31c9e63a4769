"""Common parts of the peers in JAX: 64-bit numbers, flows by diffrax, ensembles of noisy runs."""

import diffrax
import jax
import jax.numpy as jnp
import peer

jax.config.update("jax_enable_x64", True)

FLOWS = ("jax", "diffrax")
NOISE = ("jax",)


def largest(errors):
    """Returns popflow's error norm, the maximum over entries; diffrax's default is the root mean square."""
    return jnp.max(jnp.stack([jnp.abs(e).max() for e in jax.tree_util.tree_leaves(errors)]))


def solver(rhs, run, scales, curve=None, **norm):
    """Returns a function start -> (end, statistics) by Dormand and Prince's method with popflow's tolerances.

    With a `curve`, a function of the state, the function returns its values at the times of popflow's records
    instead of the end, by diffrax's dense output.

    popflow's absolute tolerance is atol times the natural scale of a field (`scales`, shaped as the state).
    diffrax has one tolerance for all fields, so each field is integrated in units of its scale.
    """
    steps = diffrax.PIDController(rtol=run.parameter("rtol"), atol=run.parameter("atol"), **norm)
    each = jax.tree_util.tree_map

    def drift(_t, x, _args):
        return each(lambda rate, scale: rate / scale, rhs(each(jnp.multiply, x, scales)), scales)

    def scaled(_t, y, _args):
        x = each(jnp.multiply, y, scales)
        return curve(x) if curve else x

    saves = diffrax.SaveAt(ts=run.times(), fn=scaled) if curve else diffrax.SaveAt(t1=True, fn=scaled)

    def flow(start):
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(drift), diffrax.Dopri5(), 0.0, run.t_end, None, each(jnp.divide, start, scales),
            stepsize_controller=steps, saveat=saves, max_steps=None)
        return found.ys if curve else each(lambda y: y[-1], found.ys), found.stats

    return jax.jit(flow)


def flow(problem, limit=1e-6, **norm):
    """Returns the work of a flow.

    `problem(run)` returns the right-hand side, the start, popflow's fields as functions of the state by name,
    the natural scales of the state, and, as curves, popflow's observables as functions of the state by name.
    """
    def work(checked, timed):
        rhs, start, fields, scales, _ = problem(checked)
        end, _ = solver(rhs, checked, scales, **norm)(start)
        agreement = peer.Agreement()
        for name, field in fields.items():
            agreement.close(name, field(end), checked.end(name), checked.start(name), limit)
        rhs, start, _, scales, _ = problem(timed)
        solve = solver(rhs, timed, scales, **norm)
        _, statistics = solve(start)  # compiles
        peer.serve(lambda: jax.block_until_ready(solve(start)), agreement, FLOWS,
                   steps=int(statistics["num_steps"]))

    return work


def curves(problem, limit=1e-6, **norm):
    """Returns the work of a flow that records its curves, of the same problems as `flow`."""
    def recording(run):
        rhs, start, _, scales, curves = problem(run)
        return solver(rhs, run, scales, lambda x: {name: curve(x) for name, curve in curves.items()}, **norm), start

    def work(checked, timed):
        solve, start = recording(checked)
        agreement = peer.Agreement()
        for name, values in solve(start)[0].items():
            agreement.close(name, values, checked.curve(name), checked.start(name), limit)
        solve, start = recording(timed)
        _, statistics = solve(start)  # compiles
        peer.serve(lambda: jax.block_until_ready(solve(start)), agreement, FLOWS,
                   steps=int(statistics["num_steps"]))

    return work


def noise(problem, judged, ensemble=jax.lax.map, generator="unsafe_rbg", shorter=1):
    """Returns the work of noisy runs.

    `problem(run)` returns a function of a key and a number of steps that gives a run's last state, a
    dictionary of popflow's fields. `judged(state)` returns the numbers, by name, whose law must equal
    popflow's. `ensemble` is side_by_side, or sequential if one run keeps all cores busy. `generator` is XLA's
    Philox or JAX's threefry2x32, whichever is faster. The timing takes `shorter` times fewer steps than
    popflow.
    """
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
    """Returns steps(start, keys), the state after one step of the run's update rule per key.

    Gradients are -velocity(x, key); momentum and Adam are optax's.
    """
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
