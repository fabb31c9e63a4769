#!/usr/bin/python3
# label: slow
"""Figures run the package's code alone: neither files of the current folder, nor the environment,
nor a file's name change what is executed."""

import os
import stat
import subprocess
import sys

from runs import BINARY, Folder, check, popflow, run_all, some

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
PACKAGE = os.path.join(SOURCE, "python")
PYTHON = os.environ.get("POPFLOW_PYTHON", sys.executable)
MARK = "ran"
HOSTILE = f"open({MARK!r}, 'w'); raise SystemExit('code of the current folder ran')\n"
# Modules that Python, matplotlib and the package import.
MODULES = ("signal", "random", "matplotlib", "numpy", "xarray", "json", "readline", "sitecustomize",
           "usercustomize", "os", "encodings", "popflow")


def run_file(folder, name="a.h5"):
    popflow("run", "markov", "--t-end", 2, "--saves", 5, "-o", name, "--quiet", folder=folder,
            code=0)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def check_drawn(folder, number, **variables):
    ended = popflow("plot", "a.h5", "-o", f"{number}.png", folder=folder,
                    env={**os.environ, **variables})
    check(ended.code == 0, f"{variables}: {ended.code} {ended.err}")
    check(os.path.getsize(os.path.join(folder, f"{number}.png")) > 1000, "no picture")
    check(not os.path.exists(os.path.join(folder, MARK)), f"foreign code ran with {variables}")


def test_modules_in_the_current_folder_are_not_imported():
    with Folder() as folder:
        run_file(folder)
        for name in MODULES:
            write(folder, f"{name}.py", HOSTILE)
        write(folder, "matplotlibrc", "backend: module://random\n")
        for number, variables in enumerate(some((
                {}, {"PYTHONPATH": ""}, {"PYTHONPATH": "."}, {"PYTHONPATH": f":{PACKAGE}"},
                {"PYTHONPATH": f"{PACKAGE}:"}, {"PYTHONPATH": f"./:{PACKAGE}"},
                {"PYTHONINSPECT": "1"}, {"PYTHONSTARTUP": "random.py"}, {"PYTHONSAFEPATH": ""},
                {"PYTHONHOME": folder}, {"PYTHONWARNINGS": "error"},
                {"PYTHONPATH": folder}))):
            if variables.get("PYTHONPATH") == folder:
                for name in ("matplotlib", "numpy", "xarray"):  # asked for by their full path
                    os.remove(os.path.join(folder, f"{name}.py"))
            check_drawn(folder, number, **variables)


def test_a_python_without_safe_path_ignores_the_current_folder():
    """Before 3.11 Python has no PYTHONSAFEPATH: a Python that does not see it stands for one."""
    with Folder() as folder:
        run_file(folder)
        older = os.path.join(folder, "older")
        write(folder, "older", f"#!/bin/sh\nunset PYTHONSAFEPATH\nexec {PYTHON} \"$@\"\n")
        os.chmod(older, os.stat(older).st_mode | stat.S_IXUSR)
        write(folder, "signal.py", HOSTILE)
        write(folder, "readline.py", HOSTILE)
        check_drawn(folder, 0, POPFLOW_PYTHON=older, PYTHONINSPECT="1")


def test_a_program_in_the_current_folder_is_not_found():
    """An empty entry of PATH means the current folder."""
    with Folder() as folder:
        write(folder, "popflow", "#!/bin/sh\n")
        os.chmod(os.path.join(folder, "popflow"), 0o755)
        told = subprocess.run(
            [PYTHON, "-c", "import popflow.executable as e; print(e.in_path('popflow'))"],
            cwd=folder, env={**os.environ, "PATH": ":.:/usr/bin", "PYTHONPATH": PACKAGE},
            capture_output=True, text=True).stdout.strip()
        check(told in ("None", "/usr/bin/popflow"), told)


def test_a_backend_of_a_notebook_is_ignored():
    with Folder() as folder:
        run_file(folder)
        for number, backend in enumerate(some((
                "module://matplotlib_inline.backend_inline", "module://nowhere", "tkagg", "nonsense"))):
            check_drawn(folder, number, MPLBACKEND=backend)


def test_a_script_does_not_execute_its_files_name():
    names = ('a"""; open("ran", "w"); """.h5', "a'''; open('ran', 'w'); '''.h5", "a\\N.h5",
             "a\nopen('ran', 'w')\n.h5", "a{__import__('os').mkdir('ran')}.h5", "-a.h5", "a\\.h5")
    surroundings = {**os.environ, "PYTHONPATH": PACKAGE, "POPFLOW": BINARY, "MPLBACKEND": "agg"}
    with Folder() as folder:
        run_file(folder, "plain.h5")
        for number, name in enumerate(some(names)):
            os.link(os.path.join(folder, "plain.h5"), os.path.join(folder, name))
            figure = f"{name}.png"
            popflow("plot", f"./{name}", "-o", f"./{figure}", "--script", f"s{number}.py",
                    folder=folder, code=0)
            done = subprocess.run([PYTHON, f"s{number}.py"], cwd=folder, env=surroundings,
                                  capture_output=True, text=True)
            check(done.returncode == 0, f"{name!r}: {done.stderr}")
            check(not os.path.exists(os.path.join(folder, MARK)), f"{name!r} was executed")


run_all()
