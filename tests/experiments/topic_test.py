#!/usr/bin/python3
# label: fast
"""Every data/experiments/topic-*.cfg runs, and shows as numbers what its comment claims."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "run"))
from runs import Folder, check, h5py, np, popflow, run_all  # noqa: E402

EXPERIMENTS = pathlib.Path(os.environ["POPFLOW_SOURCE_DIR"]) / "data" / "experiments"


class Run:
    """A configuration's run, as its first line gives it; further options after it."""

    def __init__(self, name, *args):
        config = EXPERIMENTS / name
        first = config.read_text().splitlines()[0]
        check(first == f"# popflow run topic --config data/experiments/{name}", first)
        with Folder() as folder:
            path = os.path.join(folder, "run.h5")
            popflow("run", "topic", "--config", config, "-o", path, *args, code=0)
            with h5py.File(path) as file:
                self.data = {key: item[()] for key, item in file.items()
                             if isinstance(item, h5py.Dataset)}
                self.events = {}
                if "events/kind" in file:
                    kinds = file["events/kind"].attrs["flag_meanings"].split()
                    self.events = {kinds[int(kind)]: time for kind, time in
                                   zip(file["events/kind"][()], file["events/time"][()])
                                   if np.isfinite(time)}

    def at(self, name, time):
        where = np.argmin(np.abs(self.data["time"] - time))
        check(np.isclose(self.data["time"][where], time, rtol=1e-3), f"no save at {time}")
        return self.data[name][where]

    def end(self, name):
        return self.data[name][-1]


def near(value, expected, tolerance):
    check(abs(value - expected) <= tolerance, f"{value}, not {expected} within {tolerance}")


def test_value_training_ends_blockwise():
    run = Run("topic-stage1-optimum.cfg")
    gap = run.data["value_same_word"] - run.data["value_same_topic"]
    check(np.allclose(gap, np.exp(-2e-4 * run.data["time"]), rtol=1e-5, atol=1e-8), "gap")
    near(run.end("value_same_word"), 0.1003, 5e-5)
    near(run.end("value_other_topic"), -0.0067, 5e-5)
    near(run.end("norm_value"), 3.27969, 1e-5)
    check(run.end("excess_loss") < 1e-17, run.end("excess_loss"))


def test_two_stages():
    run = Run("topic-two-stages.cfg")
    near(run.at("norm_value", 2000), 3.27, 5e-3)
    near(run.at("norm_value", 5000), 3.28, 5e-3)
    near(run.at("norm_key", 2e4), 0.12, 5e-3)
    near(run.at("norm_key", 6.6e4), 0.73, 5e-3)
    near(run.end("norm_key"), 15.1, 5e-2)
    near(run.end("attention_same_word"), 3.54, 5e-3)
    near(run.end("attention_same_topic"), 3.54, 5e-3)
    near(run.end("attention_other_topic"), 0.32, 5e-3)
    near(run.events["stage1_end"], 1693.39, 0.01)
    near(run.events["stage2_start"], 32479.9, 0.1)
    near(run.data["norm_key"][0], 0.1005, 5e-5)
    check(np.allclose(run.data["norm_key"], run.data["norm_query"], rtol=1e-6), "norms part")


def test_two_stages_are_not_so_everywhere():
    small = Run("topic-two-stages.cfg", "--topics", 4, "--words-per-topic", 3,
                "--topics-per-document", 2)
    check(small.end("attention_other_topic") > 1.5 * small.end("attention_same_topic"),
          "other topics should end above")
    blind = Run("topic-two-stages.cfg", "--keep-prob", 0)
    near(blind.end("attention_same_word") / blind.end("attention_other_topic"), 1, 1e-3)


def test_the_plateau_is_a_saddle():
    runs = [Run("topic-after-the-plateau.cfg", "--rtol", rtol) for rtol in (1e-8, 1e-10, 1e-12)]
    for run in runs:
        near(run.at("attention_same_word", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_topic", 1e7), 3.704, 1e-3)
        near(run.at("attention_same_word", 3e7), 3.705, 1e-3)
        near(run.at("attention_same_word", 4e7), 43.115, 1e-3)
        near(run.at("loss", 1e7), 0.97062, 5e-6)
        near(run.end("loss"), 0.91161, 5e-6)
        near(run.at("attention_same_word", 4e7), runs[-1].at("attention_same_word", 4e7), 2e-8)
        check(abs(run.end("key_between")) < 1e-12, run.end("key_between"))


def test_two_branches():
    word = Run("topic-branch-word.cfg")
    early = Run("topic-branch-word.cfg", "--t-end", 1e4)
    near(early.end("attention_same_word"), 1.03, 5e-3)
    near(early.end("attention_same_topic"), 1.03, 5e-3)
    near(word.end("attention_same_word"), 43.1, 0.05)
    near(word.end("attention_same_topic"), 0.034, 1e-3)
    near(word.end("loss"), 0.91161, 5e-6)
    topic = Run("topic-branch-topic.cfg")
    near(topic.end("attention_same_topic"), 4.97, 5e-3)
    near(topic.end("attention_same_word"), 0.0019, 1e-4)
    near(topic.end("loss"), 0.96208, 5e-6)
    for run, sign in ((word, 1), (topic, -1)):
        gap = run.data["value_same_word"] - run.data["value_same_topic"]
        check(np.all(sign * gap > 0), "the sign changed")


def test_embeddings_know_their_topic():
    run = Run("topic-embedding.cfg")
    near(run.end("value_same_topic"), 0.1030, 5e-5)
    near(run.end("value_other_topic"), -0.0040, 5e-5)
    gap = run.data["value_same_word"] - run.data["value_same_topic"]
    check(np.allclose(gap, 1 / (1e4 + 8e-4 * run.data["time"]), rtol=1e-6), "gap")
    check(np.all(run.data["value_same_topic"][1:] > run.data["value_other_topic"][1:]), "order")


if __name__ == "__main__":
    run_all([test_value_training_ends_blockwise, test_two_stages,
             test_two_stages_are_not_so_everywhere, test_the_plateau_is_a_saddle,
             test_two_branches, test_embeddings_know_their_topic])
