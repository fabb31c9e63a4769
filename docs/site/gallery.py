"""The cards of the gallery, and the runs that make their pictures.

A card's commands run in bash in an empty folder, with the program and the checkout's Python package
in reach; `$POPFLOW_SOURCE` is the checkout. Pictures are kept, and made again if the commands or
the program change.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "pictures"


@dataclass(frozen=True)
class Card:
    name: str
    title: str
    systems: tuple[str, ...]
    commands: str    # the last command writes NAME.png
    see: str
    needs: str = ""  # a Python package; without it the picture in docs/pictures serves


def configuration(name, title, kind, system, see):
    """Returns the card of a configuration of data/experiments."""
    return Card(name, title, (system,), f"popflow {kind} --config {name} -o {name}.h5\n"
                f"popflow plot {name}.h5 -o {name}.png", see)


def script(name, title, systems, path, see, *, arguments="", needs=""):
    """Returns the card of a script of the checkout."""
    return Card(name, title, systems, f"python3 $POPFLOW_SOURCE/{path}{arguments}", see, needs)


CARDS = (
    script("flow-and-map", "The flow, SGD, and a map of starts", ("scb", "markov"),
           "docs/pictures/draw.py",
           "Left: SGD follows the flow down to a floor that its noise sets; larger batches have a "
           "lower floor. Right: theory's line is the border between the starts that learn the "
           "chain and those that do not."),
    Card("ladder", "Does the flow describe SGD?", ("scb",),
         "popflow compare scb --text /usr/share/common-licenses/GPL-3 --context-length 50 "
         "--t-end 60 \\\n    --rungs flow,gd,sgd --learning-rate 0.05 --batch-size 64 --saves 31 "
         "--state none -o ladder.h5\npopflow plot ladder.h5 --observable excess_loss -o ladder.png",
         "Left: the mean of SGD leaves the flow at about t = 20. Right: the band of the difference "
         "leaves the grey margin there. Gaussian steps (gd) stay with SGD."),
    script("models", "Ten models, each a loss in Python", (), "examples/models/gallery.py",
           "Each panel is a model of one page, whose loss becomes a system: an associative memory, "
           "heads of linear attention, an induction head, a diagonal network, streaming SGD, a "
           "committee machine, phase retrieval, single-index models, low-rank adaptation, and "
           "two classes of normal data.",
           arguments=" --draw models.png", needs="casadi"),
    configuration("markov-basins", "Basins of attraction", "sweep", "markov",
                  "160 000 starts. Those left of the saddle and below the separatrix keep the loss "
                  "of a model that knows only the frequencies."),
    Card("markov-over-p-q", "Which chains are learned from a small start", ("markov",),
         "popflow sweep markov --over p=.02:.98:97 --over q=.02:.98:97 -o chains.h5\n"
         "popflow plot chains.h5 --observable outcome -o markov-over-p-q.png",
         "Below the diagonal p + q = 1 symbols tend to stay, and the standard small start learns. "
         "Above it they tend to alternate, and the start ends in a local minimum."),
    configuration("scb-two-stages", "Two stages of the contextual bigram", "run", "scb",
                  "A drift of 1/T starts both signals, which amplify each other until they are "
                  "boosted. Then the state moves along a hyperbola for times of order T."),
    configuration("scb-boosting-time", "The boosting time grows as log T", "sweep", "scb",
                  "Straight lines over ten decades of the context length T. Each slope is one over "
                  "the rate at which the signals grow."),
    configuration("joma-figure4", "Attention becomes sparse, then denser", "run", "joma",
                  "The entropy of attention falls while salient tokens grow, and rises when the "
                  "other tokens follow."),
    configuration("joma-figure2", "The logits follow the weights", "run", "joma-joint",
                  "The correlation of the logits with the theorem's prediction stays near 1. With "
                  "the first term alone it comes near 1 only late."),
    configuration("joma-salient-first", "Salient tokens are learned first", "run", "joma",
                  "The time to 90% falls with the target. Near its target each token relaxes at a "
                  "rate that grows with the exponential of the target's square."),
    configuration("topic-branch-topic", "Attention to the topic, or to the word", "run", "topic",
                  "One sign of the start leads to attention to the other words of the topic. With "
                  "the other sign (topic-branch-word) each word attends to itself."),
    script("claim-24", "The landscape over two attention weights", ("topic",),
           "docs/pictures/draw_claims.py",
           "White marks the least loss. If the value matrix has blocks, the minimum is a line; if "
           "it is diagonal, it is a point. The cross is uniform attention.",
           arguments=" claim-24.png"),
    Card("guideline", "A guideline for starts", ("markov",),
         "popflow sweep markov --p .7 --q .8 --over w0=-2:1:121 --over e0=.02:2:100 -o starts.h5\n"
         "popflow plot starts.h5 --observable outcome -o guideline.png",
         "For p + q > 1 the usual small start ends in a local minimum. The advised starts, w < 0 "
         "with an energy above the saddle's, such as (w, e) = (-1, 0.5), learn. Claim 40 tests "
         "them under AdamW."),
    Card("adamw-rungs", "Which model describes AdamW?", ("markov",),
         "popflow compare markov --optimizer adamw --learning-rate 0.01 --batch-size 64 --t-end 2 "
         "\\\n    --saves 21 --runs 24 -o adamw.h5\n"
         "popflow plot adamw.h5 --observable excess_loss -o adamw-rungs.png",
         "The flow falls on, sampled training stays at a noise floor, and the SDE shows the same "
         "floor."),
    configuration("linear-attention-limit", "Regression in context: the limit", "run",
                  "linear-attention",
                  "The loss leaves its plateau and reaches the least possible value; the balance "
                  "of the two factors is conserved."),
    configuration("deep-linear-modes", "Modes are learned one after another", "run", "deep-linear",
                  "Plateaus and sudden drops: the stronger a mode, the earlier it is learned."),
)


def python():
    """Returns the Python that runs the cards: that of scripts/setup --models if it is there."""
    models = ROOT / "build" / "models" / "bin" / "python"
    return str(models) if models.exists() else sys.executable


def has(package):
    tried = subprocess.run([python(), "-c", f"import {package}"], capture_output=True)
    return tried.returncode == 0


def made(card, work):
    """Returns a card's picture and the seconds of processor time (None: a kept picture)."""
    if card.needs and not has(card.needs):
        return KEPT / f"{card.name}.png", None
    program = Path(os.environ["POPFLOW"])
    scripts = [ROOT / name for name in re.findall(r"\$POPFLOW_SOURCE/(\S+)", card.commands)]
    digest = hashlib.sha256(card.commands.encode())
    for path in (program, *scripts):
        digest.update(path.read_bytes())
    folder = work / card.name
    note = folder / f"{digest.hexdigest()[:16]}.json"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        paths = f"{program.parent}:{Path(python()).parent}:{os.environ['PATH']}"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(["bash", "-euc", card.commands], cwd=folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PATH": paths, "MPLBACKEND": "Agg",
                                   "POPFLOW_SOURCE": str(ROOT)})
        if done.returncode or not (folder / f"{card.name}.png").exists():
            raise SystemExit(f"gallery: the card {card.name} failed:\n{card.commands}\n"
                             f"{done.stdout}")
        for path in folder.glob("*.h5"):
            path.unlink()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        note.write_text(json.dumps(after.ru_utime + after.ru_stime - before.ru_utime -
                                   before.ru_stime))
    return folder / f"{card.name}.png", json.loads(note.read_text())


def spoken(seconds):
    if seconds is None:
        return "drawn beforehand: CasADi is not installed where this page was made"
    return f"{max(1, round(seconds))} s of processor time"


def markdown(cards, work, folder):
    """Returns cards as MyST, and copies their pictures into the folder (with --texts: none)."""
    lines = ["::::{grid} 1 1 2 2", ":gutter: 3", ""]
    for card in cards:
        lines += [f":::{{grid-item-card}} {card.title}", ""]
        if not os.environ.get("POPFLOW_SITE_TEXTS"):
            picture, seconds = made(card, work)
            (folder / "gallery").mkdir(exist_ok=True)
            shutil.copy(picture, folder / "gallery" / f"{card.name}.png")
            lines += [f"[![{card.title}](/gallery/{card.name}.png)](/gallery/{card.name}.png)", "",
                      f"*{spoken(seconds)}*", ""]
        lines += [card.see, "", "```sh", card.commands, "```", ":::", ""]
    return [*lines, "::::"]
