#!/usr/bin/python3
# label: nightly
"""Builds the site, follows its internal links, and views six pages in Chromium: at the widths of a
desktop and of a phone, light and dark. Nothing may overflow, no picture may be missing, no script
may fail, and nothing may be loaded from elsewhere. `--keep FOLDER` keeps the screenshots, and
`--built` takes the site as it is."""

import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

SOURCE = Path(os.environ["POPFLOW_SOURCE_DIR"])
SITE = SOURCE / "build" / "site"
PAGES = ("index", "start", "gallery", "systems/scb", "guide/which-command-for-which-question",
         "claims")
SIZE = "3360,1650"  # of four frames: the widths of a desktop and of a phone, light and dark

# Four frames show the page. When the page and its equations are ready, what is wrong is written
# into the view, from which --dump-dom prints it.
VIEW = """<!doctype html><title>view</title>
<body style="margin:0;white-space:nowrap"><script>
async function look(width, theme) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 1600; frame.style.border = 0;
  const loaded = new Promise(done => frame.onload = done);
  frame.src = new URLSearchParams(location.search).get("page");
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument, root = page.documentElement, wrong = [];
  page.body.dataset.theme = theme;
  for (const one of page.images) one.loading = "eager";
  for (let k = 0; k < 200 && ![...page.images].every(one => one.complete); ++k)
    await new Promise(done => setTimeout(done, 50));
  const MathJax = frame.contentWindow.MathJax;
  if (MathJax && MathJax.startup) await MathJax.startup.promise;
  if (root.scrollWidth > root.clientWidth)
    wrong.push(`the page is ${root.scrollWidth} pixels wide`);
  const article = page.querySelector("article");
  for (const one of article.querySelectorAll("*")) {
    const beyond = one.getBoundingClientRect().right - root.clientWidth;
    let inside = one.parentElement;
    while (inside !== article && getComputedStyle(inside).overflowX === "visible")
      inside = inside.parentElement;
    if (beyond > 1 && inside === article)
      wrong.push(`${one.tagName} .${one.className} is ${beyond} pixels too wide`);
  }
  for (const one of page.images)
    if (!one.naturalWidth) wrong.push(`picture ${one.src} is missing`);
  const equations = page.querySelectorAll(".math").length;
  const set = page.querySelectorAll(".math mjx-container").length;
  if (set < equations) wrong.push(`${equations - set} equations are not set`);
  if (page.querySelector("mjx-merror, [data-mjx-error]")) wrong.push("an equation has an error");
  for (const one of frame.contentWindow.performance.getEntriesByType("resource"))
    if (!one.name.startsWith(location.origin)) wrong.push(`${one.name} is loaded from elsewhere`);
  return wrong.map(said => `${width} pixels, ${theme}: ${said}`);
}
async function main() {
  const wrong = [];
  for (const theme of ["light", "dark"])
    for (const width of [1280, 390]) wrong.push(...await look(width, theme));
  const out = document.createElement("pre");
  out.id = "report"; out.hidden = true; out.textContent = JSON.stringify(wrong);
  document.body.append(out);
}
main();
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(SITE))

    def do_GET(self):
        if urlsplit(self.path).path != "/view":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(VIEW.encode())

    def log_message(self, *_):
        pass


class Links(html.parser.HTMLParser):
    """Collects a page's links, the resources that it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag in ("a", "area") and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and given.get("href"):
            self.loads.append(given["href"])


def skip_or_fail(reason):
    print(f"skipped: {reason}")
    # Nightly checks need all packages, so that a missing one is an error.
    must = os.environ.get("CI") == "true" or os.environ.get("POPFLOW_NO_SKIPS")
    sys.exit(1 if must else 77)


def broken_links():
    pages = {path: Links(path) for path in SITE.rglob("*.html")}
    assert len(pages) > 50, f"only {len(pages)} pages"
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(SITE)} loads {link}"
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            target = Path(os.path.normpath(target))
            if not target.exists():
                yield f"{path.relative_to(SITE)}: {link}: no such file"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(SITE)}: {link}: no such anchor"


def view(chromium, address, page, folder):
    """Returns what is wrong with a page, and takes its screenshot."""
    name = folder / f"{page.replace('/', '-')}.png"
    with tempfile.TemporaryDirectory(prefix="popflow-test-") as profile:
        done = subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--enable-logging=stderr", f"--user-data-dir={profile}",
             f"--window-size={SIZE}", "--virtual-time-budget=120000", f"--screenshot={name}",
             "--dump-dom", f"{address}/view?page=/{page}.html"],
            capture_output=True, text=True, timeout=600)
    found = re.search(r'<pre id="report" hidden="">(.*?)</pre>', done.stdout, re.S)
    if not found:
        return [f"no report:\n{done.stderr[-2000:]}"]
    wrong = json.loads(html.unescape(found[1]))
    wrong += re.findall(r"CONSOLE.*(?:Uncaught|Error).*", done.stderr)
    if not (name.exists() and name.stat().st_size > 10000):
        wrong.append("no screenshot")
    return wrong


def main():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        skip_or_fail("Chromium is missing; scripts/setup --site installs it")
    if "--built" not in sys.argv:
        subprocess.run([SOURCE / "scripts" / "docs"], check=True, cwd=SOURCE,
                       env={**os.environ, "POPFLOW": os.environ["POPFLOW_BINARY"]})
    wrong = list(broken_links())
    listed = (SITE / "llms.txt").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", listed):
        if not (SITE / link).exists():
            wrong.append(f"llms.txt: {link}: no such file")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="popflow-test-") as folder:
        if "--keep" in sys.argv:
            folder = sys.argv[sys.argv.index("--keep") + 1]
            os.makedirs(folder, exist_ok=True)
        for page in PAGES:
            found = view(chromium, f"http://127.0.0.1:{server.server_port}", page, Path(folder))
            wrong += [f"{page}: {one}" for one in found]
    server.shutdown()
    assert not wrong, "\n".join(wrong)


main()
