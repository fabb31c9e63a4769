"""The site's settings. scripts/docs builds it from the files that prepare.py gathers."""

import os
import re
from pathlib import Path

import docutils.nodes
from sphinx.util.fileutil import copy_asset

ROOT = Path(__file__).resolve().parents[2]

project = "popflow"
author = "popflow developers"
copyright = author
version = release = re.search(r'__version__ = "(.*)"',
                              (ROOT / "python/popflow/version.py").read_text())[1]
root_doc = "index"
language = "en"
needs_sphinx = "8.0"

extensions = ["myst_nb", "sphinx.ext.mathjax", "sphinx_design", "sphinx_copybutton",
              "sphinxcontrib.bibtex"]
exclude_patterns = ["files", "static"]
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath",
                          "html_image"]
myst_heading_anchors = 6
nb_execution_mode = "off" if os.environ.get("POPFLOW_SITE_TEXTS") else "cache"
nb_execution_cache_path = str(ROOT / "build/site-work/notebooks")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
highlight_language = "none"
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"popflow {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = True
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

# MathJax lies beside the pages, so that nothing is loaded from elsewhere.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "local"}}


def add_mathjax(app, failed):
    if failed is None:
        import importlib.util
        package = importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
        copy_asset(Path(package) / "static/mathjax/tex-svg.js", app.outdir / "_static/mathjax")


def first_sentence(tree):
    """Returns the first paragraph of a page up to its first full stop."""
    for paragraph in tree.findall(docutils.nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 30:
            return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0]
    return ""


def write_llms(app, failed):
    """Writes llms.txt: each page's title, its Markdown, and its first sentence."""
    if failed is not None:
        return
    lines = [f"# popflow {release}", "",
             f"> {first_sentence(app.env.get_doctree(root_doc))}", "", "## Pages", ""]
    for name in sorted(app.env.found_docs):
        suffix = Path(app.env.doc2path(name)).suffix
        lines.append(f"- [{app.env.titles[name].astext()}](_sources/{name}{suffix}.txt): "
                     f"{first_sentence(app.env.get_doctree(name))}")
    (app.outdir / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", add_mathjax)
    app.connect("build-finished", write_llms)
