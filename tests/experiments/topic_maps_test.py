#!/usr/bin/python3
# label: long
"""Checks the claims of topic's maps, data/experiments/topic-landscape.cfg and
topic-attention-map.cfg."""

from experiment import check, experiment, near, np
from runs import run_all
from topic_model import TopicModel


def test_the_landscape_has_a_valley():
    sweep = experiment("topic-landscape.cfg")
    topic, word = sweep["init_logit_same_topic"], sweep["init_logit_same_word"]
    loss, model = sweep["loss"], TopicModel()
    check(loss.shape == (81, 81) and sweep.is_word("status", "complete").all(), "the grid")
    exact = np.array([[model.loss(same_word=a, same_topic=b) for a in word] for b in topic])
    check(np.abs(loss - exact).max() < 1e-14, f"{np.abs(loss - exact).max()} off the exact loss")
    near(loss[20, 20], 0.976159, 5e-7)

    # Least loss along alpha = beta, up to the rounding of the loss.
    log_weight = np.linspace(2.205, 2.217, 121)
    along = [model.loss(same_word=x, same_topic=x) for x in log_weight]
    valley = 10 * np.exp(log_weight[np.argmin(along)])
    near(valley, 91.28, 0.02)
    near(min(along), 0.971015, 5e-7)
    # The valley's loss is a lower bound for the grid, and the grid's smallest loss is next to the
    # valley.
    check(loss.min() > min(along) and loss.min() - min(along) < 1e-9, f"{loss.min()}")
    weight = 9 * np.exp(topic)[:, None] + np.exp(word)[None, :]
    for beta, column, of in zip(np.exp(word), loss.T, weight.T):
        best = of[np.argmin(column)]
        if beta < valley:
            check(abs(np.log(best / valley)) < 0.105, f"beta = {beta}: {best}")
        else:
            check(np.argmin(column) == 0, f"beta = {beta}: not the least alpha")
    # The loss depends on the topic's weight alone: it falls up to the valley and rises beyond.
    order = np.argsort(weight, axis=None)
    along, weight = loss.flat[order], weight.flat[order]
    check(np.all(np.diff(along[weight < valley]) < 1e-15), "not down to the valley")
    check(np.all(np.diff(along[weight > valley]) > -1e-15), "not up from the valley")
    check(along[-1] - along.min() > 1e-3 and along[0] - along.min() > 1e-3, "no valley")


def test_same_topic_attention():
    sweep = experiment("topic-attention-map.cfg")
    tau, l2 = sweep["topics_per_document"], sweep["l2"]
    word, topic, other = (sweep["attention_" + name]
                          for name in ("same_word", "same_topic", "other_topic"))
    check(word.shape == (2, 10, 11) and sweep.is_word("status", "complete").all(), "the grid")
    some, weak = (tau > 1) & (tau < 10), l2 < 2e-3

    # Attention with W_V frozen.
    contrast = topic[0] / other[0]
    check(np.all(contrast[some][:, weak] > 5.8), "no contrast")
    check(np.all(np.diff(topic[0, :9, 0]) > 0), "it does not grow with the topics")
    for topics, expected in ((2, 1.86), (4, 3.11), (9, 5.17)):
        near(topic[0, topics - 1, 0], expected, 5e-3)
    near(other[0, 1, 0], 0.317, 5e-4)
    near(other[0, 8, 0], 0.490, 5e-4)
    near(topic[0, 0, 0], 1, 5e-4)
    check(np.all(np.abs(contrast[9] - 1) < 1e-3), "all topics: a contrast")
    check(np.unravel_index(contrast.argmax(), contrast.shape) == (7, 6), "the sharpest contrast")
    near(contrast[7, 6], 227, 1)
    check(np.all(topic[0, 1:, -1] < 0.2), "l2 = 0.1 leaves attention to words")
    check(np.all(np.abs(topic[0] - word[0]) < 2e-4 * word[0]), "the word is not as its topic")
    for t in np.flatnonzero(some):
        for l in np.flatnonzero(weak):
            check_least_loss(int(tau[t]), l2[l], topic[0, t, l], other[0, t, l])

    # With W_V trained too, attention goes to the word itself, to its topic, or to [MASK].
    check(np.all(word[1, :9][:, l2 < 2e-5] > 10), "some are still on the plateau")
    check(np.all(topic[1, :9][:, l2 < 2e-5] < other[1, :9][:, l2 < 2e-5] * 1.2), "topic and others")
    for found, expected in zip((word, topic, other), (33.9, 0.2135, 0.330)):
        near(found[1, 3, 0], expected, 2e-3 * expected)
    band = (l2 > 5e-5) & weak
    check(np.all(topic[1, some][:, band] > 9 * other[1, some][:, band]), "no band")
    check(np.all(np.abs(topic[1] / word[1] - 1)[some][:, band] < 1e-3), "the word is preferred")
    lost = np.all(np.stack([word[1], topic[1], other[1]]) < 0.01, axis=0)
    first_lost = [l2[np.argmax(row)] if row.any() else np.inf for row in lost]
    near(first_lost[7], 0.0032, 5e-5)
    check(np.all(np.diff(first_lost[1:9]) <= 0), f"{first_lost}")
    column = sweep["value_mask"][1][lost & (l2 < 0.05)]
    check(np.allclose(column, 0.01, rtol=0.05), f"[MASK]'s column: {column}")


def check_least_loss(topics, l2, own, other):
    """Checks that the logits of this relative attention are a minimum of the loss: a change by 0.1
    in any direction increases it."""
    model = TopicModel(tau=topics, l2=l2)
    words = model.inside * model.v * (own + (topics - 1) * other)
    words += model.outside * (model.n - topics * model.v) * other
    at = np.log([own / other, (1 - words) / model.masked / other])

    def loss(same, mask):
        return model.loss(same_word=same, same_topic=same, mask_key=mask)

    around = [loss(at[0] + 0.1 * i, at[1] + 0.1 * j)
              for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    check(min(around) > loss(*at), f"tau = {topics}, l2 = {l2}: no minimum, {min(around)}")


if __name__ == "__main__":
    run_all()
