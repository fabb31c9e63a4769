#!/usr/bin/python3
# label: fast
"""Systems in shared libraries: run, verified, resumed and refused, with the examples in C and
Fortran."""

import os
import shutil
import subprocess

from runs import (Folder, attribute, check, check_equal, h5py, need, np, plain, popflow, run_all)

EXAMPLES = os.path.join(os.environ["POPFLOW_SOURCE_DIR"], "examples")
HEADERS = os.path.join(os.environ["POPFLOW_SOURCE_DIR"], "include")
LIBRARY = ["-O2", "-ffp-contract=off", "-shared", "-fPIC"]


def compiled(folder, name="double-well.so", change=None, flags=()):
    """Builds the plug-in in C; `change` replaces a part of its source."""
    need("gcc")
    with open(f"{EXAMPLES}/plugin-c/double-well.c") as file:
        source = file.read()
    if change is not None:
        check(change[0] in source, f"the source has no {change[0]}")
        source = source.replace(*change)
    path = os.path.join(folder, name.replace(".so", ".c"))
    with open(path, "w") as file:
        file.write(source)
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *LIBRARY, *flags,
                    "-I", HEADERS, path, "-o", os.path.join(folder, name)], check=True)
    return f"./{name}"


def test_an_example_in_c_runs_and_is_verified():
    with Folder() as folder:
        well = compiled(folder)
        popflow("run", well, "--x0", 0.2, "--t-end", 5, "-o", "a.h5", folder=folder, code=0)
        # x^2 / (1 - x^2) grows as e^(2 t) in a symmetric well.
        with h5py.File(f"{folder}/a.h5") as file:
            ratio = 0.2**2 / (1 - 0.2**2) * np.exp(2 * file["time"][()])
            check(np.allclose(file["x"][()], np.sqrt(ratio / (1 + ratio)), rtol=1e-6), file["x"][()])
            halfway = 0.5 * np.log((0.25 / 0.75) / (0.04 / 0.96))
            at = plain(file["time_of_halfway"][()]) if "time_of_halfway" in file else None
            check(at is None or abs(at - halfway) < 1e-6, at)
            kept = file["provenance"].attrs
            check(plain(kept["plugin"]) == "double-well.so" and kept["plugin_abi"] == 3, dict(kept))
        table = popflow("verify", well, folder=folder, code=0).out
        for row in ("gradient", "covariance"):
            check(row in table, table)
        check("double-well" in popflow("systems", well, folder=folder, code=0).out, "no page")
        check("height of the wells" in popflow("run", "--help", code=0).out
              or "--tilt" in popflow("run", well, "--help", folder=folder, code=0).out, "no help")


def test_an_example_in_fortran_has_its_exact_solution():
    need("gfortran")
    with Folder() as folder:
        subprocess.run(["gfortran", *LIBRARY, f"{EXAMPLES}/plugin-fortran/oscillator.f90",
                        "-o", "oscillator.so"], cwd=folder, check=True)
        popflow("run", "./oscillator.so", "--damping", 0.3, "--t-end", 4, "--rtol", 1e-10,
                "-o", "a.h5", folder=folder, code=0)
        with h5py.File(f"{folder}/a.h5") as file:
            t, w = file["time"][()], np.sqrt(1 - 0.3**2)
            exact = np.exp(-0.3 * t) * (np.cos(w * t) + 0.3 / w * np.sin(w * t))
            check(np.abs(file["x"][()] - exact).max() < 1e-8, file["x"][()])
        popflow("verify", "./oscillator.so", folder=folder, code=0)


def test_a_plugin_can_be_used_like_a_systems_name():
    with Folder() as folder:
        well = compiled(folder)
        popflow("sweep", well, "--over", "tilt=0:0.2:3", "--t-end", 2, "-o", "s.h5", folder=folder,
                code=0)
        popflow("compare", well, "--learning-rate", 0.1, "--runs", 8, "--t-end", 1, "-o", "c.h5",
                folder=folder)
        check(os.path.exists(f"{folder}/c.h5"), "compare wrote nothing")
        os.makedirs(f"{folder}/sub")
        with open(f"{folder}/sub/a.cfg", "w") as file:
            file.write("system = ../double-well.so\ntilt = 0.1\nt-end = 1\n")
        popflow("run", "--config", "sub/a.cfg", "-o", "d.h5", folder=folder, code=0)
        popflow("run", well, "--config", "sub/../sub/a.cfg", "-o", "e.h5", folder=folder, code=2)
        surroundings = {**os.environ, "POPFLOW_SYSTEMS": folder}
        popflow("run", "double-well", "--tilt", 0.1, "--t-end", 1, "-o", "f.h5", folder=folder,
                code=0, env=surroundings)
        check_equal(f"{folder}/d.h5", f"{folder}/f.h5", free_groups=("provenance", "restart",
                                                                     "parameters"))
        check("double-well" in popflow("systems", code=0, env=surroundings).out, "is not listed")
        for shard in (1, 2):
            popflow("sweep", well, "--over", "tilt=0:0.2:3", "--t-end", 2, "--shard", f"{shard}/2",
                    "-o", f"s{shard}.h5", folder=folder, code=0)
        for mode in ("flow", "sgd"):
            popflow("run", well, "--mode", mode, "--learning-rate", 0.1, "--runs",
                    8 if mode == "sgd" else 1, "--t-end", 1, "--saves", 6, "-o", f"{mode}.h5",
                    folder=folder, code=0)
        # The commands below do not need the plug-in.
        os.remove(f"{folder}/double-well.so")
        popflow("info", "s.h5", folder=folder, code=0)
        popflow("info", "s.h5", "--csv", folder=folder, code=0)
        popflow("info", "s.h5", "--cell", "tilt=0.1", folder=folder, code=0)
        popflow("plot", "s.h5", folder=folder, code=0)
        popflow("info", "d.h5", folder=folder, code=0)
        popflow("info", "c.h5", folder=folder, code=0)
        popflow("merge", "s1.h5", "s2.h5", "-o", "m.h5", folder=folder, code=0)
        check("tilt" in popflow("info", "m.h5", folder=folder, code=0).out, "no axis")
        popflow("compare", "--from", "flow=flow.h5,sgd=sgd.h5", "-o", "f2.h5", folder=folder)
        popflow("info", "f2.h5", folder=folder, code=0)


def test_plugins_of_older_versions_are_supported():
    with Folder() as folder:
        for abi, after in ((1, "finals"), (2, "use_threads")):
            compiled(folder, f"{abi}.so", (
                ".abi = POPFLOW_PLUGIN_ABI, .bytes = sizeof(popflow_table),",
                f".abi = {abi}, .bytes = offsetof(popflow_table, {after}),"))
        compiled(folder, "3.so")
        for abi in (1, 2, 3):
            popflow("run", f"./{abi}.so", "--mode", "sgd", "--learning-rate", 0.1, "--t-end", 2, "-o",
                    f"{abi}.h5", folder=folder, code=0)
        for abi in (1, 2):
            with h5py.File(f"{folder}/{abi}.h5") as a, h5py.File(f"{folder}/3.h5") as b:
                check(np.array_equal(a["x"][()], b["x"][()]), "other numbers")
        cut = compiled(folder, "cut.so", (".bytes = sizeof(popflow_table)",
                                          ".bytes = sizeof(popflow_table) - 8"))
        said = popflow("run", cut, "-o", "a.h5", folder=folder, code=3).err
        check("serves versions 1 and 2: build the plug-in again" in said, said)


def test_resuming_needs_the_plugin_that_made_the_file():
    with Folder() as folder:
        well = compiled(folder)
        popflow("run", well, "--t-end", 2, "--saves", 5, "-o", "a.h5", folder=folder, code=0)
        popflow("run", well, "--t-end", 4, "--saves", 9, "-o", "whole.h5", folder=folder, code=0)
        said = popflow("resume", "a.h5", "--t-end", 4, folder=folder, code=2).err
        check("--system ./double-well.so" in said, said)
        other = compiled(folder, "other.so", ("a double well with", "some double well with"))
        said = popflow("resume", "a.h5", "--t-end", 4, "--system", other, folder=folder, code=3).err
        check("another version of the plug-in" in said, said)
        said = popflow("run", other, "--init-from", "a.h5", "-o", "b.h5", folder=folder, code=3).err
        check("another version of the plug-in" in said, said)
        popflow("resume", "a.h5", "--t-end", 4, "--system", well, folder=folder, code=0)
        with h5py.File(f"{folder}/a.h5") as a, h5py.File(f"{folder}/whole.h5") as whole:
            check(np.array_equal(a["x"][()], whole["x"][()]), "resumed, it has other numbers")
        popflow("compare", well, "--learning-rate", 0.1, "--runs", 8, "--t-end", 1, "-o", "c.h5",
                folder=folder)
        with h5py.File(f"{folder}/c.h5", "a") as file:
            status = file.attrs.get_id("status")
            status.write(np.array(b"running", dtype=status.dtype))
        said = popflow("resume", "c.h5", "--system", other, folder=folder, code=3).err
        check("another version of the plug-in" in said, said)
        popflow("resume", "c.h5", "--system", well, folder=folder, code=0)


def test_a_library_that_is_cut_short_or_foreign_is_refused():
    """The loader would map it, and reading it would end the program by SIGBUS."""
    with Folder() as folder:
        with open(f"{folder}/{compiled(folder)}", "rb") as file:
            whole = file.read()
        foreign = bytearray(whole)
        foreign[18:20] = (0xB7 if whole[18] != 0xB7 else 0x3E), 0  # e_machine
        small = bytearray(whole)
        small[4] = 1  # 32 bits
        executable = bytearray(whole)
        executable[16] = 2
        broken = {n: (whole[:n], "is empty" if n == 0 else "is cut short")
                  for n in (0, 1, 3, 4, 63, 64, 100, 1000, 4096, 8000, 12288, len(whole) - 1)
                  if n < len(whole)}
        broken |= {"foreign": (foreign, "another kind of machine"),
                   "small": (small, "another kind of machine"),
                   "executable": (executable, "is no shared library"),
                   "text": (b"#!/bin/sh\n" * 200, "is no shared library")}
        for name, (data, sentence) in broken.items():
            with open(f"{folder}/broken.so", "wb") as file:
                file.write(data)
            ended = popflow("run", "./broken.so", "-o", "a.h5", folder=folder, code=3)
            check(sentence in ended.err and ended.err.count("\n") == 1, f"{name}: {ended.err}")


def test_the_values_of_a_record_take_one_call():
    """Functions of the table write all observables, events or final values at once."""
    with open(f"{EXAMPLES}/plugin-c/double-well.c") as file:
        source = file.read()
    counted = """static int counted(const void* p, const double* x, double t, double* values) {
  static int calls;
  values[0] = ++calls;
  return height(p, x, t, values + 1);
}
static int events("""
    changed = source
    for old, new in ((".observe = height", ".observe = counted"), ("static int events(", counted),
                     (r'[{\"name\": \"height\"', r'[{\"name\": \"calls\", \"meaning\": \"calls\"}, '
                                                 r'{\"name\": \"height\"')):
        check(changed.count(old) == 1, old)
        changed = changed.replace(old, new)
    with Folder() as folder:
        counting = compiled(folder, "counting.so", (source, changed))
        popflow("run", counting, "--saves", 20, "-o", "a.h5", folder=folder, code=0)
        with h5py.File(f"{folder}/a.h5") as file:
            counts = file["calls"][()]
        check((np.diff(counts) == 1).all(), counts)


def test_errors_of_plugins_are_reported():
    with Folder() as folder:
        with open(f"{folder}/text.so", "w") as file:
            file.write("no library\n")
        subprocess.run(["gcc", *LIBRARY, "-xc", "/dev/null", "-o", "empty.so"], cwd=folder,
                       check=True)
        said = {"./none.so": "does not exist", "./text.so": "is no shared library",
                "./empty.so": "no function popflow_plugin"}
        changes = {("\\\"end\\\": 20", "\\\"ent\\\": 20"): "did you mean \"end\"",
                   ("\\\"low\\\": 0", "\\\"low\\\": \\\"a\\\""): "must be a number",
                   (".abi = POPFLOW_PLUGIN_ABI", ".abi = 7"): "build the plug-in again",
                   (".loss = loss,", ""): "has no function `loss`",
                   ("\\\"double-well\\\"", "\\\"markov\\\""): "another system already has this name",
                   ("\"name\\\": \\\"x\\\"", "\"nama\\\": \\\"x\\\""): "has no \"name\""}
        for number, (change, sentence) in enumerate(changes.items()):
            flags = ["-Wno-unused-function"]
            said[compiled(folder, f"p{number}.so", change, flags)] = sentence
        for word, sentence in said.items():
            ended = popflow("run", word, "-o", "a.h5", folder=folder)
            check(ended.code in (2, 3) and sentence in ended.err, (word, ended.code, ended.err))
            check(not os.path.exists(f"{folder}/a.h5"), word)


THROWING = """#include <cstdlib>
#include <stdexcept>
#include "popflow/plugin.hpp"
static void* create(const popflow_request* request, char*, size_t) {
  if (request->parameters[0] > 5) throw std::invalid_argument("a is above 5");
  return std::malloc(1);
}
static int start(const void*, double* x) { return *x = 1, 0; }
static int rate(const void*, const double* x, double, double* dxdt) {
  if (*x < 0.5) throw std::domain_error("x is small");
  return *dxdt = -*x, 0;
}
extern "C" const popflow_table* popflow_plugin() {
  static popflow_table t{};
  t.abi = POPFLOW_PLUGIN_ABI;
  t.bytes = sizeof t;
  t.description = R"({"name": "thrower", "title": "throws",
                      "parameters": [{"name": "a", "default": 1, "meaning": "number"}],
                      "fields": [{"name": "x", "meaning": "position"}]})";
  t.create = popflow::caught<create>;
  t.destroy = [](void* made) noexcept { std::free(made); };
  t.start = popflow::caught<start>;
  t.rate = popflow::caught<rate>;
  return &t;
}
"""


def test_no_exception_leaves_a_plugin_in_cpp():
    """A plug-in's C++ runtime is not the program's, which would abort without a message."""
    need("g++")
    with Folder() as folder:
        for name, source in (("caught", THROWING),
                             ("bare", THROWING.replace("popflow::caught<create>", "create"))):
            with open(f"{folder}/{name}.cpp", "w") as file:
                file.write(source)
        build = ["g++", "-std=c++20", *LIBRARY, "-I", HEADERS]
        subprocess.run([*build, "caught.cpp", "-o", "caught.so"], cwd=folder, check=True)
        ended = popflow("run", "./caught.so", "--a", 7, "-o", "a.h5", folder=folder, code=2)
        check(ended.err == "popflow: error: a is above 5\n", ended.err)
        ended = popflow("run", "./caught.so", "-o", "b.h5", folder=folder, code=1)
        check("the plug-in's function returned 1" in ended.err, ended.err)
        bare = subprocess.run([*build, "-fsyntax-only", "bare.cpp"], cwd=folder,
                              env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
        check(bare.returncode != 0 and "noexcept" in bare.stderr, bare)


def test_fast_math_is_refused():
    with Folder() as folder:
        fast = compiled(folder, "fast.so", flags=["-ffast-math"])
        with open(f"{folder}/probe.c", "w") as file:
            file.write("int main(void) { return 0; }\n")
        ended = popflow("run", fast, "-o", "a.h5", folder=folder)
        # Newer compilers no longer add the code that sets the floating-point mode to shared
        # libraries.
        if ended.code != 0:
            check(ended.code == 3 and "-ffast-math" in ended.err, ended.err)
        setting = compiled(folder, "sets.so", ("const popflow_table* popflow_plugin(void)",
                           "#include <xmmintrin.h>\n__attribute__((constructor)) static void set("
                           "void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
                           "const popflow_table* popflow_plugin(void)")) \
            if os.uname().machine == "x86_64" else None
        if setting:
            ended = popflow("run", setting, "-o", "b.h5", folder=folder, code=3)
            check("-ffast-math" in ended.err, ended.err)


def test_a_file_alone_does_not_load_a_plugin():
    with Folder() as folder:
        well = compiled(folder)
        popflow("run", well, "--t-end", 1, "-o", "a.h5", folder=folder, code=0)
        surroundings = {**os.environ, "POPFLOW_SYSTEMS": folder}
        said = popflow("resume", "a.h5", "--t-end", 2, folder=folder, code=2, env=surroundings).err
        check("--system" in said, said)
        shutil.copy(f"{folder}/a.h5", f"{folder}/b.h5")
        check(attribute(f"{folder}/b.h5", "system") == "double-well", "another system")


if __name__ == "__main__":
    run_all()
