"""`topic` (joint training, factored) in JAX: the flow in symmetric coordinates by diffrax, and
SGD and the SDE of the full matrices. Formulas are those of `popflow systems topic`."""

import itertools

import in_jax
import jax
import jax.numpy as jnp
import numpy as np
import peer


class Data:
    """Parameters of the data: T topics of v words, tau topics per document, and the masking."""

    def __init__(self, run):
        self.T, self.v, self.tau = (run.parameter(name) for name in (
            "topics", "words-per-topic", "topics-per-document"))
        self.n, self.inside = self.T * self.v, self.tau * self.v
        self.p_m, self.p_c, self.p_r = (run.parameter(f"{name}-prob") for name in (
            "mask", "keep", "random"))
        self.hidden = 1 - self.p_c - self.p_r
        self.z_mask = self.p_m * self.hidden
        self.z_out = self.p_m * self.p_r / self.n
        self.more_inside = (1 - self.p_m * (1 - self.p_c)) / self.inside
        self.z_in = self.more_inside + self.z_out
        self.l2 = run.parameter("l2")


# ---- the flow in symmetric coordinates

VALUES = ["value_same_word", "value_same_topic", "value_other_topic", "value_mask"]
FACTORS = ["key_within", "query_within", "key_between", "query_between", "key_block", "query_block"]
SAME_WORD, SAME_TOPIC, OTHER_TOPIC, MASK_KEY, WORD_KEY, MASK_MASK = range(6)  # logits


def kinds(d):
    """Returns the kinds of selected positions: [MASK], a word of the document's topics, another word.

    Each kind has its probability and the logit of the key [MASK]. For each class of words that a
    position meets, a kind has the number of words, their frequency, their logit, their share of
    true words, and whether they are of its topic.
    """
    known = d.p_c + d.p_r * d.tau / d.T
    itself = d.p_c / known
    any_word = (1 - itself) / d.inside
    outside = d.n - d.inside
    yield d.hidden, MASK_MASK, [(d.inside, d.z_in, WORD_KEY, 1, 0), (outside, d.z_out, WORD_KEY, 0, 0)]
    yield known, MASK_KEY, [
        (1, d.z_in, SAME_WORD, itself + any_word, 1),
        (d.v - 1, d.z_in, SAME_TOPIC, any_word * (d.v - 1), 1),
        (d.inside - d.v, d.z_in, OTHER_TOPIC, any_word * (d.inside - d.v), 0),
        (outside, d.z_out, OTHER_TOPIC, 0, 0)]
    yield d.p_r * (d.T - d.tau) / d.T, MASK_KEY, [
        (1, d.z_out, SAME_WORD, 0, 1), (d.v - 1, d.z_out, SAME_TOPIC, 0, 1),
        (outside - d.v, d.z_out, OTHER_TOPIC, 0, 0), (d.inside, d.z_in, OTHER_TOPIC, 1, 0)]


def symmetric_loss(d):
    def loss(value, logit):
        same, topic, other, mask = value
        total = 0.0
        for often, mask_logit, classes in kinds(d):
            count, frequency, key, target, own = (np.array(x) for x in zip(*classes))
            key = key.astype(int)
            weights = frequency * jnp.exp(logit[key])
            of_mask = d.z_mask * jnp.exp(logit[mask_logit])
            whole = of_mask + (count * weights).sum()
            weights, of_mask = weights / whole, of_mask / whole
            all_words = (count * weights).sum()
            of_topic = jnp.where(own > 0, (count * own * weights).sum(), d.v * weights)
            output = ((same - topic) * weights + (topic - other) * of_topic + other * all_words
                      + mask * of_mask)
            total += often * (count * (output - target / count)**2).sum()
        return total

    return loss


def flow(run):
    d = Data(run)
    n, v, root = d.n, d.v, d.n**0.5
    times_W = np.array([n, n * (v - 1), n * (n - v), n])
    times_logit = np.array([n, n * (v - 1), n * (n - v), n, n, 1])
    loss = symmetric_loss(d)
    gradient = jax.grad(loss, (0, 1))

    def logits(x):
        within, between = (x[f"key_{part}"] * x[f"query_{part}"] for part in ("within", "between"))
        block = x["key_block"].T @ x["query_block"]
        shared = between * (d.T - 1) / n + block[0, 0] / n
        return jnp.stack([within * (v - 1) / v + shared, shared - within / v,
                          (block[0, 0] - between) / n, block[1, 0] / root, block[0, 1] / root,
                          block[1, 1]])

    def rhs(x):
        value = jnp.stack([x[name] for name in VALUES])
        by_W, by_logit = gradient(value, logits(x))
        dW = -by_W / times_W - 2 * d.l2 * value
        a, b, c, k, e, f = by_logit / times_logit
        within, between = a - b, a + (v - 1) * b - v * c
        block = jnp.array([[a + (v - 1) * b + (n - v) * c, root * e], [root * k, f]])
        return {**dict(zip(VALUES, dW)),
                "key_within": -x["query_within"] * within,
                "query_within": -x["key_within"] * within,
                "key_between": -x["query_between"] * between,
                "query_between": -x["key_between"] * between,
                "key_block": -x["query_block"] @ block.T,
                "query_block": -x["key_block"] @ block}

    rest = 1 - loss(jnp.zeros(4), jnp.zeros(6))  # a true word's squares, where classes have only their means

    def whole_loss(x):
        value = jnp.stack([x[name] for name in VALUES])
        return loss(value, logits(x)) + rest + d.l2 * (times_W * value**2).sum()

    start = {name: jnp.asarray(run.start(name)) for name in VALUES + FACTORS}
    scales = {**dict(zip(VALUES, (1 / v, 1 / v, 1 / n, 1 / n))),
              **dict.fromkeys(FACTORS, run.parameter("init-scale"))}
    return rhs, start, {name: lambda x, name=name: x[name] for name in start}, scales, {"loss": whole_loss}


# ---- full matrices

def documents(d, length, key, samples):
    """Draws documents: the shown symbols (0 is [MASK]), their true words, and the number of selected positions.

    The selected positions are the first ones, since positions are exchangeable.
    """
    of_topics, of_words, of_selection, of_masks, of_random = jax.random.split(key, 5)
    topics = jnp.argsort(jax.random.uniform(of_topics, (samples, d.T)), axis=1)[:, :d.tau]
    place = jax.random.randint(of_words, (samples, length), 0, d.inside)
    words = jnp.take_along_axis(topics, place // d.v, 1) * d.v + place % d.v
    selected = (jax.random.uniform(of_selection, (samples, length)) < d.p_m).sum(1)
    what = jax.random.uniform(of_masks, (samples, length))
    anything = jax.random.randint(of_random, (samples, length), 0, d.n)
    hidden = jnp.where(what < d.p_c, words + 1, jnp.where(what < d.p_c + d.p_r, anything + 1, 0))
    return jnp.where(jnp.arange(length) < selected[:, None], hidden, words + 1), words, selected


def sampled(d, length):
    """Returns minus the weighted sum of the gradients by W_V and Lambda of a batch of documents.

    Sums over keys use the counts of all symbols. The number of queries is a bound on selected positions.
    """
    mean = length * d.p_m
    most = min(length, int(mean + 8 * mean**0.5) + 1)

    def gradients(W, logit, batch, weights):
        shown, words, selected = batch
        samples = len(shown)
        counts = jnp.zeros((samples, d.n + 1)).at[jnp.arange(samples)[:, None], shown].add(1)
        queries, words = shown[:, :most].ravel(), words[:, :most].ravel()
        scored = jnp.arange(most) < selected[:, None]
        weights = (scored * (weights / jnp.maximum(selected, 1))[:, None]).ravel()
        A = jnp.exp(logit - logit.max(0))[:, queries] * jnp.repeat(counts, most, 0).T
        A = A / A.sum(0)
        R = (2 * weights) * (W @ A).at[words, jnp.arange(len(words))].add(-1)
        by_A = W.T @ R
        by_logit = A * (by_A - (A * by_A).sum(0))
        return -R @ A.T, -jnp.zeros((d.n + 1, d.n + 1)).at[queries].add(by_logit.T).T

    return gradients


def population(d):
    """Returns the loss over all sets of topics.

    The unnormalised output of a query is b + more sum_t g_t over the document's topics, so the inner
    products of the g_t give the losses of all documents.
    """
    sets = np.array([[t in members for t in range(d.T)]
                     for members in itertools.combinations(range(d.T), d.tau)], float)
    pairs = jnp.asarray(np.einsum("st,sr->str", sets, sets).reshape(len(sets), -1))
    sets = jnp.asarray(sets)
    own = np.repeat(np.arange(d.T), d.v)
    kept, random = d.p_c / d.inside, d.p_r / d.n
    inside = jnp.concatenate([jnp.ones((len(sets), 1)), sets[:, own]], 1) > 0  # set, query
    word = jnp.arange(d.n + 1) > 0
    often = jnp.where(word, jnp.where(inside, kept + random, random), d.hidden) / len(sets)
    of_own = jnp.where(inside & word, kept / (kept + random), 0)

    def loss(W, logit):
        E = jnp.exp(logit - logit.max(0))
        of_topics = E[1:].reshape(d.T, d.v, -1)
        g = jnp.einsum("ntv,tvq->tnq", W[:, 1:].reshape(d.n, d.T, d.v), of_topics)
        mask = d.z_mask * E[0]
        b = W[:, :1] * mask + d.z_out * g.sum(0)
        s = of_topics.sum(1)
        words = g.reshape(d.T, d.T, d.v, -1).sum(2)  # topic of the keys, of the words put out
        N = mask + d.z_out * s.sum(0) + d.more_inside * (sets @ s)
        inner = jnp.einsum("tnq,rnq->trq", g, g).reshape(d.T**2, -1)
        F2 = ((b * b).sum(0) + 2 * d.more_inside * (sets @ jnp.einsum("tnq,nq->tq", g, b))
              + d.more_inside**2 * (pairs @ inner))
        any_word = (sets @ b.reshape(d.T, d.v, -1).sum(1)
                    + d.more_inside * (pairs @ words.reshape(d.T**2, -1)))
        q = jnp.arange(d.n)
        itself = jnp.pad(b[q, q + 1] + d.more_inside * (sets @ g[:, q, q + 1]), ((0, 0), (1, 0)))
        target = (1 - of_own) / d.inside * any_word + of_own * itself
        return (often * ((F2 / N - 2 * target) / N)).sum()

    return jax.grad(loss, (0, 1))


def descended(d, x, steps, h, decay):
    """Returns x after a step h along minus the gradients by W_V and Lambda and of the l2 term."""
    dW, G = steps
    return {"W_V": x["W_V"] + h * dW - 2 * d.l2 * decay * x["W_V"],
            "W_K": x["W_K"] + h * x["W_Q"] @ G.T, "W_Q": x["W_Q"] + h * x["W_K"] @ G}


def start_of(run):
    start = {name: jnp.asarray(run.start(name)) for name in ("W_V", "W_K", "W_Q")}
    return {**start, "W_V": start["W_V"][1:]}  # row 0 stays 0


def as_recorded(x):
    return {**x, "W_V": jnp.pad(x["W_V"], ((1, 0), (0, 0)))}


def sgd(run):
    d = Data(run)
    batch, rate, length = (run.parameter(name) for name in (
        "batch-size", "learning-rate", "document-length"))
    gradients = sampled(d, length)

    def step(x, key):
        drawn = documents(d, length, key, batch)
        by = gradients(x["W_V"], x["W_K"].T @ x["W_Q"], drawn, jnp.full(batch, 1 / batch))
        return descended(d, x, by, rate, rate), None

    return lambda key, steps: as_recorded(
        jax.lax.scan(step, start_of(run), jax.random.split(key, steps))[0])


def sde(run):
    """Euler-Maruyama steps of a tenth of the learning rate.

    The noise is a multiplier bootstrap of a batch of documents, drawn anew every ten steps.
    """
    d = Data(run)
    B, rate, length = (run.parameter(name) for name in (
        "batch-size", "learning-rate", "document-length"))
    gradients, by_population = sampled(d, length), population(d)
    h = rate / 10
    scale = (rate / h / B / (B - 1))**0.5

    def stretch(x, key):
        of_samples, of_steps = jax.random.split(key)
        drawn = documents(d, length, of_samples, B)

        def step(x, zeta):
            logit = x["W_K"].T @ x["W_Q"]
            drift = by_population(x["W_V"], logit)
            noise = gradients(x["W_V"], logit, drawn, scale * (zeta - zeta.mean()))
            by = [s - f for s, f in zip(noise, drift)]
            return descended(d, x, by, h, h), None

        return jax.lax.scan(step, x, jax.random.normal(of_steps, (10, B)))[0], None

    return lambda key, steps: as_recorded(
        jax.lax.scan(stretch, start_of(run), jax.random.split(key, steps // 10))[0])


def judged(x):
    small = jnp.eye(len(x["W_K"])) * x["W_K"].trace() / len(x["W_K"])
    return {"squares of W_V": (x["W_V"]**2).sum(),
            "squares of W_K": ((x["W_K"] - small)**2).sum(),
            "trace of W_Q": x["W_Q"].trace()}


peer.main({"flow": in_jax.flow(flow, 1e-5), "curves": in_jax.curves(flow, 1e-5), "sgd": in_jax.noise(sgd, judged),
           "sde": in_jax.noise(sde, judged)})
