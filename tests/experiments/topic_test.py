#!/usr/bin/python3
# label: slow
"""Every data/experiments/topic-*.cfg runs, and shows as numbers what its comment claims."""

from experiment import check, experiment, near, np
from runs import run_all


def test_value_training_ends_blockwise():
    run = experiment("topic-stage1-optimum.cfg")
    gap = run["value_same_word"] - run["value_same_topic"]
    check(np.allclose(gap, np.exp(-2e-4 * run["time"]), rtol=1e-5, atol=1e-8), "gap")
    near(run.last("value_same_word"), 0.1003, 5e-5)
    near(run.last("value_other_topic"), -0.0067, 5e-5)
    near(run.last("norm_value"), 3.27969, 1e-5)
    check(run.last("excess_loss") < 1e-17, run.last("excess_loss"))


def test_two_stages():
    run = experiment("topic-two-stages.cfg")
    near(run.at("norm_value", 2000), 3.27, 5e-3)
    near(run.at("norm_value", 5000), 3.28, 5e-3)
    near(run.at("norm_key", 2e4), 0.12, 5e-3)
    near(run.at("norm_key", 6.6e4), 0.73, 5e-3)
    near(run.last("norm_key"), 15.1, 5e-2)
    near(run.last("attention_same_word"), 3.54, 5e-3)
    near(run.last("attention_same_topic"), 3.54, 5e-3)
    near(run.last("attention_other_topic"), 0.32, 5e-3)
    near(run.event("stage1_end"), 1693.39, 0.01)
    near(run.event("stage2_start"), 32479.9, 0.1)
    near(run["norm_key"][0], 0.1005, 5e-5)
    check(np.allclose(run["norm_key"], run["norm_query"], rtol=1e-6), "norms part")


def test_two_stages_are_not_so_everywhere():
    small = experiment("topic-two-stages.cfg", "--topics", 4, "--words-per-topic", 3,
                       "--topics-per-document", 2)
    check(small.last("attention_other_topic") > 1.5 * small.last("attention_same_topic"),
          "other topics should end above")
    blind = experiment("topic-two-stages.cfg", "--keep-prob", 0)
    near(blind.last("attention_same_word") / blind.last("attention_other_topic"), 1, 1e-3)


def test_the_plateau_is_a_saddle():
    runs = [experiment("topic-after-the-plateau.cfg", "--rtol", rtol) for rtol in (1e-8, 1e-10, 1e-12)]
    for run in runs:
        near(run.at("attention_same_word", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_topic", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_word", 3e7), 3.705, 1e-3)
        near(run.at("attention_same_word", 4e7), 43.115, 1e-3)
        near(run.at("loss", 1e7), 0.97062, 5e-6)
        near(run.last("loss"), 0.91161, 5e-6)
        near(run.at("attention_same_word", 4e7), runs[-1].at("attention_same_word", 4e7), 2e-8)
        check(abs(run.last("key_between")) < 1e-12, run.last("key_between"))


def test_two_branches():
    word = experiment("topic-branch-word.cfg")
    early = experiment("topic-branch-word.cfg", "--t-end", 1e4)
    near(early.last("attention_same_word"), 1.03, 5e-3)
    near(early.last("attention_same_topic"), 1.03, 5e-3)
    near(word.last("attention_same_word"), 43.1, 0.05)
    near(word.last("attention_same_topic"), 0.034, 1e-3)
    near(word.last("loss"), 0.91161, 5e-6)
    topic = experiment("topic-branch-topic.cfg")
    near(topic.last("attention_same_topic"), 4.97, 5e-3)
    near(topic.last("attention_same_word"), 0.0019, 1e-4)
    near(topic.last("loss"), 0.96208, 5e-6)
    for run, sign in ((word, 1), (topic, -1)):
        gap = run["value_same_word"] - run["value_same_topic"]
        check(np.all(sign * gap > 0), "the sign changed")


def test_embeddings_know_their_topic():
    run = experiment("topic-embedding.cfg")
    near(run.last("value_same_topic"), 0.1030, 5e-5)
    near(run.last("value_other_topic"), -0.0040, 5e-5)
    gap = run["value_same_word"] - run["value_same_topic"]
    check(np.allclose(gap, 1 / (1e4 + 8e-4 * run["time"]), rtol=1e-6), "gap")
    check(np.all(run["value_same_topic"][1:] > run["value_other_topic"][1:]), "order")


if __name__ == "__main__":
    run_all([test_value_training_ends_blockwise, test_two_stages,
             test_two_stages_are_not_so_everywhere, test_the_plateau_is_a_saddle,
             test_two_branches, test_embeddings_know_their_topic])
