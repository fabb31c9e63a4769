#!/usr/bin/python3
# label: fast
"""Every command of the README, the tutorial and the guide works, prints what the page says, and
draws the page's pictures. With the argument `--pictures` these are stored instead of compared."""

import os
import re
import shutil
import sys
import tempfile

import page

SOURCE = os.environ["POPFLOW_SOURCE_DIR"]
PICTURES = os.path.join(SOURCE, "docs", "pictures")
# How many outputs and how many pictures of a page are compared at least.
PAGES = {"README.md": (1, 0), "docs/tutorial.md": (8, 2), "docs/guide.md": (2, 1)}
# By which pictures may differ, of 256, in the root mean square.
SHADES = 2
# Another version of Matplotlib sets formulas a little differently: 9.1 between 3.6 and 3.10.
SHADES_OF_OTHERS = 12


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
    """Of the pictures that a page has, those that its commands have drawn. Returns how many."""
    from matplotlib.testing.compare import compare_images

    with open(path, encoding="utf-8") as text:
        names = re.findall(r"!\[[^\]]*\]\((?:docs/)?pictures/([^)]+)\)", text.read())
    drawn = [name for name in names if os.path.exists(os.path.join(folder, name))]
    for name in drawn:
        ours, theirs = os.path.join(folder, name), os.path.join(PICTURES, name)
        if "--pictures" in sys.argv:
            shutil.copy(ours, theirs)
        else:
            shades = SHADES if drawn_by(theirs) == drawn_by(ours) else SHADES_OF_OTHERS
            different = compare_images(theirs, ours, shades)
            assert not different, different
    return len(drawn)


def drawn_by(picture):
    """The first two numbers of the version of Matplotlib, as the picture names it."""
    from PIL import Image

    with Image.open(picture) as image:
        return re.findall(r"\d+", image.info["Software"])[:2]


def environment(folder):
    """In which `popflow` is the tested program, and terminals have Unicode and no colours."""
    programs = os.path.join(folder, ".bin")
    os.mkdir(programs)
    os.symlink(os.environ["POPFLOW_BINARY"], os.path.join(programs, "popflow"))
    os.symlink(sys.executable, os.path.join(programs, "python3"))
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.path.join(SOURCE, "python")}


def test_that_a_page_can_be_wrong():
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
        # In continuous integration scripts/setup has installed it.
        must = os.environ.get("CI") == "true" or os.environ.get("POPFLOW_NO_SKIPS")
        sys.exit(1 if must else 77)
    os.environ.update(POPFLOW=os.environ["POPFLOW_BINARY"], MPLBACKEND="Agg")
    sys.path.insert(0, os.path.join(SOURCE, "python"))
    test_that_a_page_can_be_wrong()
    test_pages()


main()
