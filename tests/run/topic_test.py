#!/usr/bin/python3
# label: slow
"""Refusals of topic with their reasons, and its problem files."""

import os

from runs import Folder, attribute, check, check_equal, h5py, np, popflow, run_all

SMALL = ("--topics", 4, "--words-per-topic", 3, "--topics-per-document", 2)


def refused(args, code, *parts):
    with Folder() as folder:
        ended = popflow("run", "topic", *args, folder=folder)
        check(ended.code == code, f"{args}: {ended.code}, {ended.err}")
        for part in parts:
            check(part in ended.err, f"{args}: no '{part}' in {ended.err}")
        check(len(ended.err.splitlines()) <= 5, ended.err)
        check(not os.listdir(folder), f"{args} left a file")


def problem(path, attributes=None, group=None, **datasets):
    with h5py.File(path, "w") as file:
        place = file.create_group(group) if group else file
        for name, value in datasets.items():
            place[name] = value
        for name, value in (attributes or {}).items():
            place.attrs[name] = value


def start(path, name):
    with h5py.File(path) as file:
        return file[name][0]


def test_combinations_are_refused_with_the_reason():
    direct = ("--parameterization", "direct")
    refused((*direct, "--value-init", "zero"), 2, "--value-init zero", "unstable manifold")
    refused((*direct, "--value-init", "optimum"), 2, "--value-init optimum", "unstable manifold")
    refused((*direct, "--init-scale", 0), 2, "--init-scale 0", "unstable manifold")
    # So close to the manifold, the rounding of W, which grows to 1/v, would exceed the distance
    # from the manifold.
    for scale in ("1e-17", "-1e-17", "9e-14", "-9e-14"):
        refused((*direct, f"--init-scale={scale}"), 2, f"--init-scale {scale}",
                "unstable manifold", "rounding")
    refused(("--init-scale", 0), 2, "--init-scale 0", "gradient is 0")
    refused(("--train", "embedding", "--init-scale", 0), 2, "--init-scale 0", "gradient is 0")
    refused(("--train", "attention", "--init-scale", 0), 2, "--init-scale 0")
    refused(("--topics-per-document", 11), 2, "--topics-per-document 11", "--topics 10")
    refused(("--keep-prob", 0.6, "--random-prob", 0.5), 2, "--keep-prob 0.6", "more than 1")
    refused(("--mask-prob", 0), 2, "mask-prob", "0", "above 0")
    refused(("--topics", 1e15, "--words-per-topic", 1e15), 2, "--topics", "2^53")
    for key in ("mask-prob", "keep-prob", "random-prob"):
        refused((f"--{key}", 1.5), 2, key, "1.5")
    refused(("--l2", -1), 2, "l2", "-1")


def test_the_sign_of_the_smallest_start_decides():
    """Just above the refused sizes, all tolerances give the same end."""
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        for scale, own, topic in (("4e-13", 5.65, 0.03), ("-4e-13", 0.0054, 2.92)):
            for rtol in ("1e-6", "1e-8", "1e-10"):
                popflow("run", "topic", *SMALL, "--parameterization", "direct",
                        f"--init-scale={scale}", "--t-end", "1e6", "--method", "rosenbrock4",
                        "--rtol", rtol, "-o", path, "--force", code=0)
                for name, expected in (("attention_same_word", own),
                                       ("attention_same_topic", topic)):
                    with h5py.File(path) as file:
                        found = file[name][-1]
                    check(np.isclose(found, expected, rtol=0.02), f"{scale} {rtol} {name}: {found}")


def test_options_without_effect_are_accepted():
    with Folder() as folder:
        def run(name, *args):
            path = os.path.join(folder, name)
            popflow("run", "topic", "--t-end", 5, *args, "-o", path, code=0)
            return path

        value = run("1.h5", "--train", "value", "--init-scale", 0)
        other = run("2.h5", "--train", "value", "--parameterization", "direct",
                    "--document-length", 7)
        check_equal(value, other, free_groups=("provenance", "restart", "parameters"))
        # With one word per topic there is no other word of the same topic, and no unstable
        # manifold.
        run("3.h5", "--words-per-topic", 1, "--parameterization", "direct", "--value-init", "zero")
        run("4.h5", "--keep-prob", 0.9, "--random-prob", 0.1)
        run("5.h5", "--mask-prob", 1, "--keep-prob", 0, "--random-prob", 0)
        run("6.h5", "--topics", 1e12, "--words-per-topic", 1000)


def test_problem_files():
    with Folder() as folder:
        path = os.path.join(folder, "problem.h5")

        def run(*args):
            out = os.path.join(folder, "run.h5")
            popflow("run", "topic", "--t-end", 5, "--problem", path, *args, "-o", out, "--force",
                    code=0)
            return out

        block = np.array([[1.0, 2.0], [3.0, 4.0]])
        for group in (None, "problem"):
            problem(path, {"topics": 4, "words_per_topic": 3, "topics_per_document": 2,
                           "mask_prob": 0.3}, group, value_mask=0.7, key_within=0.2,
                    key_block=block)
            out = run("--topics", 4)
            check(attribute(out, "topics", "parameters") == 4, "topics")
            check(attribute(out, "mask-prob", "parameters") == 0.3, "mask-prob")
            for name, expected in (("value_mask", 0.7), ("value_same_word", 0),
                                   ("key_within", 0.2), ("query_within", 0.01)):
                found = start(out, name)
                check(np.isclose(found, expected, rtol=1e-15), f"{name}: {found}")
            check(np.array_equal(start(out, "key_block"), block), "key_block")
            # Different W_K and W_Q are also read from the run's own file.
            again = os.path.join(folder, "again.h5")
            popflow("run", "topic", "--t-end", 5, "--problem", out, "-o", again, "--force", code=0)
            check_equal(out, again, free_groups=("provenance", "restart", "parameters"))
            # A run also continues from its end, and that file reproduces it.
            on = os.path.join(folder, "on.h5")
            popflow("run", "topic", "--t-end", 5, "--problem", out, "--init-from", out, "-o", on,
                    "--force", code=0)
            popflow("run", "topic", "--t-end", 5, "--problem", on, "-o", again, "--force", code=0)
            check_equal(on, again, free_groups=("provenance", "restart", "parameters"),
                        free_attributes=("continues_at",))

        problem(path, value_same_word=0.1)
        run()
        out = run("--train", "attention")
        check(start(out, "value_same_word") == 0.1, "a given start goes before value-init")
        problem(path, value_same_word=[0.1])
        run()


def test_logits_start_at_the_values_of_an_option_or_a_file():
    option = "--init-logit-same-word"
    direct = (*SMALL, "--parameterization", "direct")
    with Folder() as folder:
        def run(name, *args):
            out = os.path.join(folder, name)
            popflow("run", "topic", "--t-end", 50, *args, "-o", out, code=0)
            return out

        def said(path):
            return attribute(path, "init-logit-same-word", "parameters")

        def same(one, other):
            check_equal(one, other, free_groups=("provenance", "restart", "parameters"))

        out = run("run.h5", *direct, option, 1.5)
        check(start(out, "logit_same_word") == 1.5 and said(out) == 1.5, "the option's start")
        check(start(out, "logit_same_topic") == 0, "another logit's start")
        # A file with a start is read alone and together with the same option.
        again = run("again.h5", *direct, "--problem", out)
        check(said(again) == 1.5, f"its own file says {said(again)}")
        same(out, again)
        same(out, run("both.h5", *direct, "--problem", out, option, 1.5))
        refused((*direct, "--problem", out, option, 2), 2, option, "disagrees", out)

        end = read(out, "logit_same_word")[-1]
        on = run("on.h5", *direct, "--init-from", out)
        check(start(on, "logit_same_word") == end and said(on) == end, f"{said(on)} and not {end}")
        refused((*direct, "--init-from", out, option, 2), 2, option, "disagrees", out)
        popflow("resume", on, "--t-end", 70, code=0)
        check(start(on, "logit_same_word") == end and said(on) == end, "after resuming")

        # In full matrices no single number is the logit's, so the option is refused with a matrix
        # start.
        sgd = ("--mode", "sgd", "--learning-rate", 0.5, "--batch-size", 4, "--document-length", 30)
        full = run("full.h5", *direct, *sgd, option, 1.5)
        check(np.allclose(np.diag(read(full, "Lambda")[0, 0])[1:], 1.5, rtol=1e-15), "Lambda")
        popflow("resume", full, "--t-end", 60, code=0)
        refused((*direct, "--init-from", full, option, 2), 2, option, "both set")
        path = os.path.join(folder, "problem.h5")
        problem(path, {"topics": 4, "words_per_topic": 3, "topics_per_document": 2},
                Lambda=matrices()["Lambda"])
        refused((*direct, "--problem", path, option, 2), 2, option, "both set", path)
        run("matrix.h5", *direct, "--problem", path)
    refused((*SMALL, option, 1), 2, option, "--parameterization direct")
    refused((*SMALL, "--train", "value", option, 1), 2, option, "uniform")


def test_wrong_problem_files_are_named():
    with Folder() as folder:
        path = os.path.join(folder, "problem.h5")

        def bad(*parts, code=3, args=(), **contents):
            problem(path, **contents)
            refused(("--problem", path, *args), code, path, *parts)

        bad("value_same_word", "nan", value_same_word=np.nan)
        bad("value_same_word", "(2)", value_same_word=[1.0, 2.0])
        bad("key_block", "(2, 2)", key_block=np.ones(4))
        bad("key_block[0,1]", "inf", key_block=np.array([[1, np.inf], [0, 1]]))
        bad("topics", "1.5", "whole", attributes={"topics": 1.5}, value_mask=0.0)
        bad("keep_prob", "2", "from 0 to 1", attributes={"keep_prob": 2.0}, value_mask=0.0)
        bad("--topics 5", "disagrees", "4", code=2, args=("--topics", 5),
            attributes={"topics": 4}, value_mask=0.0)
        bad("holds no dataset", P=np.eye(2))
        # A problem file with a start on the unstable manifold.
        problem(path, value_same_word=0.1, value_same_topic=0.1 + 1e-16)
        refused(("--problem", path, "--parameterization", "direct"), 3, path, "unstable manifold")


def test_a_start_from_another_variant_is_refused():
    with Folder() as folder:
        path = os.path.join(folder, "run.h5")
        popflow("run", "topic", *SMALL, "--t-end", 5, "-o", path, code=0)
        refused((*SMALL, "--train", "value", "--init-from", path), 3, path, "another shape")
        # The data of the file serve any variant; a note says which values are not used.
        out = os.path.join(folder, "value.h5")
        ended = popflow("run", "topic", "--problem", path, "--train", "value", "-o", out, code=0)
        check("key_within" in ended.err + ended.out, ended.err)
        check(attribute(out, "topics", "parameters") == 4, "topics")


def test_the_page_names_all_recorded_fields():
    page = popflow("systems", "topic", code=0).out
    for word in ("key_block", "embedding_within", "logit_mask_mask", "stage1_end", "stage2_start",
                 "2303.04245", "value_norm_optimum"):
        check(word in page, f"{word} is not on the page")


def matrices(seed=1, size=13):
    random = np.random.default_rng(seed)
    W = random.normal(size=(size, size)) / 3
    W[0] = 0
    return {"W_V": W, "W_K": random.normal(size=(size, size)) / 3,
            "W_Q": random.normal(size=(size, size)) / 3,
            "Lambda": random.normal(size=(size, size)), "W_E": random.normal(size=(size, size)) / 3}


def read(path, name):
    with h5py.File(path) as file:
        return file[name][()]


def test_a_start_of_matrices_makes_a_flow_of_matrices():
    variants = ((("W_V", "W_K", "W_Q"), ()),
                (("W_V", "Lambda"), ("--parameterization", "direct")),
                (("W_V",), ("--train", "value")),
                (("W_E",), ("--train", "embedding")),
                (("W_V",), ("--train", "attention")))
    for names, options in variants:
        with Folder() as folder:
            path = os.path.join(folder, "problem.h5")
            given = {name: matrices()[name] for name in names}
            problem(path, {"topics": 4, "words_per_topic": 3, "topics_per_document": 2}, **given)

            def run(name, *args, folder=folder, options=options):
                out = os.path.join(folder, name)
                popflow("run", "topic", "--t-end", 5, "--saves", 3, *options, *args, "-o", out,
                        code=0)
                return out

            out = run("run.h5", "--problem", path)
            for name, value in given.items():
                check(np.array_equal(start(out, name), value), f"{name} is another")
            if "W_V" in names:
                check(np.all(read(out, "W_V")[:, 0] == 0), "row 0 moved")
                mean = np.mean(np.diag(given["W_V"])[1:])
                check(np.isclose(start(out, "value_same_word"), mean, rtol=1e-13), "class mean")
                check(np.isclose(start(out, "value_mask"), np.mean(given["W_V"][1:, 0])), "mask")
            again = run("again.h5", "--problem", out)
            check_equal(out, again, free_groups=("provenance", "restart", "parameters"))
            # The run continues from its end, and that file reproduces it.
            on = run("on.h5", "--problem", out, "--init-from", out)
            last = run("last.h5", "--problem", on)
            check_equal(on, last, free_groups=("provenance", "restart", "parameters"),
                        free_attributes=("continues_at",))
            for name in names:
                check(np.array_equal(start(on, name), read(out, name)[-1]), name)


def test_noisy_modes_take_the_same_starts():
    with Folder() as folder:
        def run(name, *args):
            out = os.path.join(folder, name)
            popflow("run", "topic", *SMALL, "--t-end", 4, "--saves", 3, *args, "-o", out, code=0)
            return out

        sgd = ("--mode", "sgd", "--learning-rate", 0.5, "--batch-size", 4, "--document-length", 30)
        flow = run("flow.h5", "--init-scale", 0.3)
        full = run("sgd.h5", *sgd, "--init-scale", 0.3)
        for name in ("value_same_word", "value_mask", "logit_same_word", "logit_mask_mask"):
            check(np.isclose(read(full, name)[0, 0], start(flow, name), rtol=1e-13, atol=1e-15),
                  name)
        for name in ("loss", "norm_key", "attention_same_word"):
            check(np.isclose(read(full, name)[0, 0], start(flow, name), rtol=1e-12), name)
        check(np.all(read(full, "W_V")[0, :, 0] == 0), "row 0 moved")
        # A symmetric start is stored as numbers, so the file also serves the flow.
        check_equal(flow, run("flow2.h5", "--problem", full, "--init-scale", 0.3),
                    free_groups=("provenance", "restart", "parameters"))
        check_equal(full, run("sgd2.h5", *sgd, "--problem", full, "--init-scale", 0.3),
                    free_groups=("provenance", "restart", "parameters"))
        # A noisy run continues from the flow's end, and a flow from the noisy run's end.
        on = run("on.h5", *sgd, "--init-from", flow)
        check(np.isclose(read(on, "value_same_word")[0, 0], read(flow, "value_same_word")[-1],
                         rtol=1e-12), "where it starts")
        back = run("back.h5", "--init-from", on)
        check(np.array_equal(start(back, "W_K"), read(on, "W_K")[0, -1]), "W_K")
        sde = run("sde.h5", "--mode", "sde", "--noise", "isotropic", "--noise-scale", 0.1,
                  "--learning-rate", 0.5, "--train", "embedding")
        check(read(sde, "W_E").shape == (1, 3, 13, 13), "W_E")
        for kind in ("batch", "diagonal"):
            run(kind + ".h5", "--mode", "sde", "--noise", kind, "--noise-samples", 3,
                "--learning-rate", 1, "--parameterization", "direct")


def test_sampled_runs_do_not_depend_on_threads_or_each_other():
    with Folder() as folder:
        def run(name, *args):
            out = os.path.join(folder, name)
            popflow("run", "topic", *SMALL, "--mode", "sgd", "--learning-rate", 0.5, "--batch-size",
                    200, "--document-length", 30, "--t-end", 8, "--saves", 5, *args, "-o", out, code=0)
            return out

        three, one = run("three.h5", "--runs", 3, "--threads", 2), run("one.h5", "--threads", 1)
        for name in ("W_V", "W_K", "W_Q", "loss"):
            check(np.array_equal(read(three, name)[:1], read(one, name)), name)
            check(not np.array_equal(read(three, name)[0], read(three, name)[1]),
                  f"equal {name} in two runs")


def test_refusals_of_full_matrices():
    sgd = ("--mode", "sgd")
    refused((*sgd, "--topics", 20, "--topics-per-document", 10), 2, "--topics 20", "184756",
            "100000")
    refused((*sgd, "--topics", 1e6, "--words-per-topic", 1e3), 2, "--topics", "memory")
    refused((*sgd, "--parameterization", "direct", "--value-init", "zero"), 2, "unstable manifold")
    refused((*sgd, "--document-length", 0), 2, "document-length", "0")
    with Folder() as folder:
        path = os.path.join(folder, "problem.h5")
        given = matrices()

        def bad(*parts, args=(), code=3, **contents):
            problem(path, {"topics": 4, "words_per_topic": 3, "topics_per_document": 2}, **contents)
            refused(("--problem", path, *args), code, *parts)

        W = given["W_V"].copy()
        W[0, 3] = 0.25
        bad(path, "W_V[0,3]", "0.25", "must be 0", W_V=W)
        W[0, 3], W[2, 1] = 0, np.inf
        bad(path, "W_V[2,1]", "inf", W_V=W)
        bad(path, "W_V", "(12, 12)", "(13, 13)", W_V=given["W_V"][1:, 1:])
        bad(path, "W_V", "value_mask", W_V=given["W_V"], value_mask=0.1)
        bad(path, "factor", "gradient is 0", W_V=given["W_V"], W_K=np.zeros((13, 13)),
            W_Q=np.zeros((13, 13)))
        bad("rosenbrock4", "symmetric", args=("--method", "rosenbrock4"), code=2, W_V=given["W_V"])


if __name__ == "__main__":
    run_all()
