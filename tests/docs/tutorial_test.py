#!/usr/bin/python3
# label: fast
"""Runs every command of the README, the tutorial and the guide, and compares output and pictures
with the page. The argument `--pictures` stores the pictures instead of comparing them. If
POPFLOW_TEST_INSTALLED is set, Python uses the installed package, not that of the checkout."""

import os
import re
import shutil
import sys
import tempfile

import page

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
PACKAGE = [] if os.environ.get("POPFLOW_TEST_INSTALLED") else [os.path.join(SOURCE, "python")]
PICTURES = os.path.join(SOURCE, "docs", "pictures")
# Least number of outputs and of pictures that are compared on a page.
PAGES = {"README.md": (1, 0), "docs/tutorial.md": (8, 2), "docs/guide.md": (2, 1)}
# Tolerance of pictures: root mean square of 256 shades.
SHADES = 2
# Tolerance between versions of Matplotlib, which set formulas differently: 9.1 between 3.6 and
# 3.10.
SHADES_OF_OTHERS = 12
# The first version that places labels elsewhere, so that every line is moved by pixels: there, only
# the sizes of pictures are compared.
MOVES_TEXT = (3, 11)


def test_pages():
    home = os.getcwd()
    for name, (least, pictures) in PAGES.items():
        with tempfile.TemporaryDirectory(prefix="popflow-test-") as folder:
            os.chdir(folder)
            try:
                compared = page.run(os.path.join(SOURCE, name), environment(folder))
            finally:
                os.chdir(home)
            drawn = compare_pictures(os.path.join(SOURCE, name), folder)
        assert compared >= least, f"only {compared} outputs of {name} were compared"
        assert drawn >= pictures, f"only {drawn} pictures of {name} were drawn"


def compare_pictures(path, folder):
    """Compares the page's pictures that its commands have drawn. Returns their number."""
    from matplotlib.testing.compare import compare_images

    with open(path, encoding="utf-8") as text:
        names = re.findall(r"!\[[^\]]*\]\((?:docs/)?pictures/([^)]+)\)", text.read())
    drawn = [name for name in names if os.path.exists(os.path.join(folder, name))]
    for name in drawn:
        ours, theirs = os.path.join(folder, name), os.path.join(PICTURES, name)
        if "--pictures" in sys.argv:
            shutil.copy(ours, theirs)
        else:
            if drawn_by(ours) >= MOVES_TEXT > drawn_by(theirs):
                for here, there in zip(size_of(ours), size_of(theirs)):
                    assert abs(here - there) <= 0.03 * there, (name, here, there)
                continue
            shades = SHADES if drawn_by(theirs) == drawn_by(ours) else SHADES_OF_OTHERS
            different = compare_images(theirs, ours, shades)
            assert not different, different
    return len(drawn)


def drawn_by(picture):
    """Returns the first two numbers of the version of Matplotlib that the picture's file names."""
    from PIL import Image

    with Image.open(picture) as image:
        major, minor = re.findall(r"\d+", image.info["Software"])[:2]
    return int(major), int(minor)


def size_of(picture):
    from PIL import Image

    with Image.open(picture) as image:
        return image.size


def environment(folder):
    """Returns an environment in which `popflow` is the tested program and terminals have Unicode
    and no colours."""
    programs = os.path.join(folder, ".bin")
    os.mkdir(programs)
    os.symlink(os.environ["POPFLOW_BINARY"], os.path.join(programs, "popflow"))
    os.symlink(sys.executable, os.path.join(programs, "python3"))
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "PYTHONPATH": ":".join(PACKAGE)}


def test_a_wrong_page_is_detected():
    printed = "boosted at t = 23.516\n     0.1 \u2524\u2889\n  wall time  0.3 s\n  drift 3e-17\n"
    for shown in (printed, "...\n     0.1 \u2524\u2889\n...\n",
                  "boosted at t = 23.517\n...\n  wall time  9 s\n  drift 5e-16\n"):
        page.compare(shown, printed)
    for shown in ("boosted at t = 23.916\n...\n", "aligned at t = 23.516\n...\n", "boosted at t\n",
                  "...\n    0.1 \u2524\u2889\n...\n", "...\n     0.1 \u2524\u2888\n...\n",
                  "...\n  drift 3e-17\n...\n  wall time  0.3 s\n...\n", "...\n  drift 3e-8\n"):
        try:
            page.compare(shown, printed)
        except page.OutOfDate:
            continue
        raise AssertionError(f"taken for what was printed:\n{shown}")


def main():
    try:
        import h5netcdf  # noqa: F401
        import matplotlib  # noqa: F401
        import xarray  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        # Continuous integration installs all packages (scripts/setup), so that a missing one is an
        # error.
        must = os.environ.get("CI") == "true" or os.environ.get("POPFLOW_NO_SKIPS")
        sys.exit(1 if must else 77)
    os.environ.update(POPFLOW=os.environ["POPFLOW_BINARY"], MPLBACKEND="Agg")
    sys.path[:0] = PACKAGE
    test_a_wrong_page_is_detected()
    test_pages()


main()
