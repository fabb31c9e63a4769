#!/usr/bin/python3
# label: slow
"""Shards of a sweep, and sweeps that differ along one axis, merge into the file of the whole
sweep."""

import os

from runs import Folder, attribute, check, h5py, np, plain, popflow, run_all, worked
from sweeps import check_same_data, datasets

GRID = ["markov", "--over", "e0=0.02:2:7", "--over", "w0=-2:1:5", "--over", "bias=free,optimal"]
MODES = {
    "flow": ["--t-end", 50],
    "series": ["--t-end", 5, "--record", "series", "--saves", 4],
    "ensembles": ["--mode", "sgd", "--steps", 30, "--runs", 3],
    "reduced": ["--mode", "sgd", "--steps", 30, "--runs", 3, "--reduce", "runs"],
}
# Attributes that depend on how a file was made, not on its contents.
FREE = ("history", "status_message")
OF_SCALES = ("DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "NAME",
             "CLASS")


def check_same_file(path, expected):
    """Compares all datasets with their dimensions and attributes, and the options."""
    with h5py.File(path) as file, h5py.File(expected) as other:
        check(list(file) == list(other), f"{list(file)} and {list(other)}")
        for name in datasets(expected):
            one, two = file[name], other[name]
            check(one.dtype == two.dtype and np.array_equal(one[()], two[()],
                                                            equal_nan=one.dtype.kind == "f"),
                  f"{path}: {name}")
            check([d[0].name for d in one.dims if len(d)] == [d[0].name for d in two.dims if len(d)],
                  f"{path}: the dimensions of {name}")
            for key in two.attrs:
                check(key in OF_SCALES or np.array_equal(one.attrs[key], two.attrs[key]),
                      f"{path}: {name}.{key}")
        for group, but in (("/", FREE), ("sweep", ()), ("parameters", ("output", "quiet"))):
            for key in other[group].attrs:
                check(key in but or np.array_equal(file[group].attrs[key], other[group].attrs[key]),
                      f"{path}: {group}.{key}")


def shards(args, of, folder):
    paths = []
    for number in range(1, of + 1):
        paths.append(os.path.join(folder, f"shard-{number}.h5"))
        popflow("sweep", *args, "--shard", f"{number}/{of}", "-o", paths[-1], "--quiet", code=0)
    return paths


def test_shards_merge_into_the_whole():
    for mode, options in MODES.items():
        with Folder() as folder:
            in_folder = lambda name: os.path.join(folder, name)
            whole = in_folder("whole.h5")
            popflow("sweep", *GRID, *options, "-o", whole, "--quiet", code=0)
            parts = shards([*GRID, *options], 4, folder)
            held = sum(h5py.File(part)["status"].shape[0] for part in parts)
            check(held == 70, f"{mode}: the shards hold {held} cells")

            popflow("merge", *reversed(parts), "-o", in_folder("merged.h5"), code=0)
            check_same_file(in_folder("merged.h5"), whole)
            # Without one shard the merge names it; --allow-missing leaves its cells out, and a
            # later merge or `resume` adds them.
            late = parts.pop(1)
            said = popflow("merge", *parts, "-o", in_folder("partly.h5"), code=3).err
            check("shard 2 of 4" in said and "--allow-missing" in said, said)
            check(not os.path.exists(in_folder("partly.h5")), "a file is left behind")
            popflow("merge", *parts, "--allow-missing", "-o", in_folder("partly.h5"), code=0)
            check(attribute(in_folder("partly.h5"), "status") == "interrupted", "status")
            said = popflow("merge", in_folder("partly.h5"), parts[0], "-o", in_folder("again.h5"),
                           code=3).err
            check("'resume' completes" in said and "partly.h5" in said, said)
            popflow("merge", in_folder("partly.h5"), late, parts[0], "-o", in_folder("again.h5"),
                    code=0)
            check_same_file(in_folder("again.h5"), whole)
            popflow("resume", in_folder("partly.h5"), "--quiet", code=0)
            check_same_file(in_folder("partly.h5"), whole)


def test_the_values_of_an_axis_are_made_once_for_all_shards():
    """Making 100 000 values takes 0.1 s, and reading a shard 0.01 s."""
    with Folder() as folder:
        parts = shards(["markov", "--over", "w0=-2:1:100000", "--t-end", 0], 20, folder)

        def seconds(files):
            before = worked()
            popflow("merge", *files, "-o", os.path.join(folder, "merged.h5"), "--allow-missing",
                    "--force", code=0)
            return worked() - before

        few, all_parts = seconds(parts[:2]), seconds(parts)
        check(all_parts < 2.2 * few, f"2 shards take {few:.2f} s, 20 take {all_parts:.2f} s")


def test_a_merged_file_records_its_parts():
    with Folder() as folder:
        parts = shards(["markov", "--over", "e0=1,2,3", "--t-end", 1], 2, folder)
        merged = os.path.join(folder, "merged.h5")
        popflow("merge", *parts, "-o", merged, code=0)
        history = attribute(merged, "history")
        check(history.count("--shard") == 2 and "popflow merge" in history, history)
        with h5py.File(merged) as file:
            listed = file["provenance"].attrs["parts"]
            check("shard 1/2: " in listed and "shard 2/2: " in listed, listed)


def test_sweeps_that_differ_along_one_axis_are_joined():
    with Folder() as folder:
        in_folder = lambda name: os.path.join(folder, name)
        noisy = ["--over", "bias=free,optimal", "--mode", "sgd", "--steps", 20, "--runs", 2]
        for name, values in (("a", "1,2"), ("b", "1.5,2,3"), ("all", "1,1.5,2,3")):
            popflow("sweep", "markov", "--over", f"e0={values}", *noisy, "-o",
                    in_folder(f"{name}.h5"), "--quiet", code=0)
        popflow("merge", in_folder("a.h5"), in_folder("b.h5"), "-o", in_folder("merged.h5"), code=0)
        check_same_file(in_folder("merged.h5"), in_folder("all.h5"))


NODES = ["joma", "--activation", "nonlinear", "--t-end", 0.5, "--over", "temperature=0.8,1,1.5"]
# Along these axes states or passages have different shapes or names.
SHAPES = [
    (NODES, "nodes", [1, 2, 3], ("v", "time_to_90", "node", "token")),
    (["scb", "--vocab-size", 4, "--context-length", 10, "--t-end", 1], "coordinates",
     ["full", "support"], ("V", "A", "A_support", "position", "slot", "query")),
    (["topic", "--t-end", 1], "train", ["joint", "embedding"],
     ("value_mask", "key_block", "block_in")),
    (["scb", "--context-length", 10, "--mode", "sgd", "--steps", 5, "--runs", 2, "--reduce",
      "runs"], "vocab-size", [4, 6], ("V", "A")),
]


def test_states_of_different_shapes_are_left_out_as_in_the_whole_sweep():
    for args, axis, values, without in SHAPES:
        with Folder() as folder:
            def over(some, name, *more):
                popflow("sweep", *args, "--over", f"{axis}={','.join(map(str, some))}", *more, "-o",
                        name, "--quiet", folder=folder, code=0)

            for value in values:
                over([value], f"{value}.h5")
            for turn, order in enumerate((values, values[::-1], values[1:] + values[:1])):
                # Numbers are sorted, and words keep the order of the files.
                over(sorted(order) if isinstance(order[0], int) else order, f"whole-{turn}.h5")
                popflow("merge", *(f"{value}.h5" for value in order), "-o", f"merged-{turn}.h5",
                        folder=folder, code=0)
                merged = os.path.join(folder, f"merged-{turn}.h5")
                check_same_file(merged, os.path.join(folder, f"whole-{turn}.h5"))
                there = set(datasets(merged)) & set(without)
                check(not there, f"{axis}: {there} are there")
                check(attribute(merged, "state_fields") == "", "state_fields")


def test_a_merged_file_without_states_can_be_extended_and_resumed():
    with Folder() as folder:
        in_folder = lambda name: os.path.join(folder, name)

        def over(nodes, name, *more):
            popflow("sweep", *NODES, "--over", f"nodes={nodes}", *more, "-o", name, "--quiet",
                    folder=folder, code=0)

        over("1,2,3", "whole.h5")
        over("1", "1.h5")
        over("3", "3.h5")
        for number in (1, 2):
            over("2", f"2-{number}.h5", "--shard", f"{number}/2")
        # One shard of the sweep with two nodes is missing.
        popflow("merge", "2-1.h5", "1.h5", "--allow-missing", "-o", "begun.h5", folder=folder,
                code=0)
        check("v" not in datasets(in_folder("begun.h5")), "states are there")
        for name, late in (("merged.h5", "2-2.h5"), ("resumed.h5", None)):
            files = ["3.h5", "begun.h5"] + ([late] if late else ["--allow-missing"])
            popflow("merge", *files, "-o", name, folder=folder, code=0)
            if late is None:
                popflow("resume", name, "--quiet", folder=folder, code=0)
            check_same_file(in_folder(name), in_folder("whole.h5"))
        # Shards with states of one shape keep the states.
        popflow("merge", "2-2.h5", "2-1.h5", "-o", "2.h5", folder=folder, code=0)
        over("2", "direct.h5")
        check_same_file(in_folder("2.h5"), in_folder("direct.h5"))
        check("v" in datasets(in_folder("2.h5")), "no states")
        # With --state ends a merge without common states is refused, like a sweep of the whole.
        for nodes in (1, 2):
            over(nodes, f"asked-{nodes}.h5", "--state", "ends")
        said = popflow("merge", "asked-1.h5", "asked-2.h5", "-o", "no.h5", folder=folder,
                       code=3).err
        check("--state ends needs states of one shape in all cells" in said, said)
        check(not os.path.exists(in_folder("no.h5")), "a file is left behind")


def test_shards_of_earlier_versions_merge_with_new_ones():
    """Files of earlier versions have variables for final values that no cell can have."""
    with Folder() as folder:
        in_folder = lambda name: os.path.join(folder, name)
        args = ["scb", "--vocab-size", 4, "--context-length", 30, "--t-end", 5, "--over",
                "problem-seed=1..5"]
        popflow("sweep", *args, "-o", in_folder("whole.h5"), "--quiet", code=0)
        parts = shards(args, 2, folder)
        with h5py.File(parts[0], "r+") as file:
            for name in ("loss_before", "loss_after"):
                old = file.create_dataset(name, data=np.full(file["loss"].shape, np.nan))
                old.dims[0].attach_scale(file["cell"])
        for number, files in enumerate((parts, parts[::-1])):
            merged = in_folder(f"merged-{number}.h5")
            popflow("merge", *files, "-o", merged, code=0)
            check_same_file(merged, in_folder("whole.h5"))
            # The merged file, and a shard of an earlier version, can be merged and resumed.
            popflow("merge", merged, *files, "-o", in_folder(f"again-{number}.h5"), code=0)
            check_same_file(in_folder(f"again-{number}.h5"), in_folder("whole.h5"))
        popflow("resume", parts[0], "--retry", "complete", "--quiet", code=0)


def test_files_that_do_not_belong_together_are_refused():
    with Folder() as folder:
        in_folder = lambda name: os.path.join(folder, name)
        made = {
            "a": ["markov", "--over", "e0=1,2", "--over", "w0=1,2"],
            "other-option": ["markov", "--over", "e0=1,2", "--over", "w0=1,2", "--p", 0.3],
            "other-axes": ["markov", "--over", "w0=1,2", "--over", "e0=1,2"],
            "two-differ": ["markov", "--over", "e0=1,3", "--over", "w0=1,3"],
            "other-system": ["joma", "--over", "problem-seed=1,2"],
        }
        for name, args in made.items():
            popflow("sweep", *args, "--t-end", 0.1, "-o", in_folder(name + ".h5"), "--quiet", code=0)
        popflow("run", "markov", "--t-end", 1, "-o", in_folder("run.h5"), "--quiet", code=0)
        for name, sentence in {"other-option": "--p 0.3", "other-axes": "different swept parameters",
                               "two-differ": "a single axis", "other-system": "a sweep of joma",
                               "run": "is not a sweep of popflow"}.items():
            ended = popflow("merge", in_folder("a.h5"), in_folder(name + ".h5"), "-o",
                            in_folder("out.h5"), code=3)
            check(sentence in ended.err, f"{name}: {ended.err}")
            check(not os.path.exists(in_folder("out.h5")), f"{name} left a file")
        # Cells that are in two files must be equal.
        popflow("sweep", *made["a"], "--t-end", 0.1, "-o", in_folder("b.h5"), "--quiet", code=0)
        with h5py.File(in_folder("b.h5"), "r+") as file:
            file["loss"][1, 0] += 1e-16 * file["loss"][1, 0] + 1e-15
        ended = popflow("merge", in_folder("a.h5"), in_folder("b.h5"), "-o", in_folder("out.h5"),
                        code=3)
        check("e0 = 2, w0 = 1" in ended.err and "'loss'" in ended.err, ended.err)


def test_values_of_an_axis_may_have_any_order():
    with Folder() as folder:
        def sweep(name, values, *more):
            popflow("sweep", "markov", "--t-end", 2, "--over", "e0=0.1,0.5", "--over", f"w0={values}",
                    *more, "-o", name, "--quiet", folder=folder, code=0)

        # The shard mixed.h5 has all values in another order; two other sweeps have the values of
        # the missing shard.
        sweep("mixed.h5", "1,-1,0.25", "--shard", "1/2")
        sweep("two.h5", "0.25,1")
        sweep("one.h5", "-1")
        sweep("whole.h5", "-1,0.25,1")
        popflow("merge", "mixed.h5", "two.h5", "one.h5", "-o", "merged.h5", folder=folder, code=0)
        with h5py.File(os.path.join(folder, "merged.h5")) as a, \
                h5py.File(os.path.join(folder, "whole.h5")) as b:
            for name in ("w0", "loss", "accepted_steps"):
                check(np.array_equal(a[name][()], b[name][()]), name)


def test_shards_read_the_same_files_in_any_folder():
    with Folder() as folder:
        def inside(*parts):
            return os.path.join(folder, *parts)

        for name, second in (("x", "bees see a tree"), ("y", "see trees"), ("z", "bees see a tree")):
            os.mkdir(inside(name))
            for file, text in (("a.txt", "anna eats a pea"), ("b.txt", second)):
                with open(inside(name, file), "w") as to:
                    to.write(text)
        for name, number in (("x", 1), ("y", 2), ("z", 2)):
            popflow("sweep", "markov", "--over", "text=a.txt,./b.txt", "--t-end", 1, "--shard",
                    f"{number}/2", "-o", f"../{name}.h5", "--quiet", folder=inside(name), code=0)

        def as_before(name, of):
            """Replaces paths by absolute ones, as earlier versions wrote them."""
            with h5py.File(inside(name), "r+") as file:
                lines = plain(file["sweep"].attrs["files"]).splitlines()
                whole = (f"{line.split()[0]} {os.path.normpath(inside(of, line.split()[1]))}"
                         for line in lines)
                file["sweep"].attrs["files"] = "\n".join(whole)

        for earlier in (False, True):
            if earlier:
                as_before("x.h5", "x")
            said = popflow("merge", "x.h5", "y.h5", "-o", "no.h5", folder=folder, code=3).err
            check("the file './b.txt' has other contents for 'y.h5' than for 'x.h5'" in said, said)
            popflow("merge", "x.h5", "z.h5", "-o", "m.h5", "--force", folder=folder, code=0)
            popflow("merge", "x.h5", "--allow-missing", "-o", "part.h5", "--force", folder=folder,
                    code=0)
            if earlier:
                as_before("part.h5", "x")
            said = popflow("resume", "../part.h5", folder=inside("y"), code=3).err
            check("'./b.txt' has other contents now than when the sweep was begun" in said, said)
            popflow("resume", "../part.h5", "--quiet", folder=inside("z"), code=0)
            check_same_data(inside("part.h5"), inside("m.h5"))
        with h5py.File(inside("m.h5"), "r+") as file:
            file["sweep"].attrs["files"] = "0 /somewhere/a.txt\n1 /x/b.txt\n2 /y/b.txt"
        said = popflow("resume", "../m.h5", "--retry", "complete", folder=inside("x"), code=3).err
        check("'./b.txt' had several contents when the sweep was begun" in said, said)


run_all()
