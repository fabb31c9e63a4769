"""Drawings of the systems' architectures as SVG, in the colours of the page. Data flow upwards."""

import html
import re


class Drawing:
    """Boxes and arrows. Lengths are those of the view, which is scaled to the page."""

    def __init__(self, wide, tall, said):
        self.wide, self.tall, self.said, self.parts = wide, tall, said, []

    def box(self, x, y, wide, label, under="", *, trained=False, tall=44):
        """A box around (x, y), with a label and a smaller line below the label."""
        kind = "trained" if trained else "fixed"
        self.parts.append(f'<rect class="{kind}" x="{x - wide / 2}" y="{y - tall / 2}" rx="6" '
                          f'width="{wide}" height="{tall}"/>')
        self.text(x, y - (4 if under else -5), label)
        if under:
            self.text(x, y + 14, under, small=True)

    def text(self, x, y, label, *, small=False, anchor="middle"):
        kind = ' class="small"' if small else ""
        # Letters after _ are subscripts; a word that follows returns to the line.
        lowered = re.sub(r"_(\w+(?:[+−]1)?)(.?)", r'<tspan dy="4" font-size="75%">\1</tspan>'
                         r'<tspan dy="-4">\2</tspan>', html.escape(label))
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kind}>{lowered}</text>')

    def arrow(self, *points):
        """A line through points, with a head at the last."""
        path = " ".join(f"{'ML'[k > 0]}{x} {y}" for k, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{path}" marker-end="url(#head)"/>')

    def tokens(self, x, y, labels, *, step=52):
        """A row of small boxes from x on; returns their centres."""
        centres = [x + step * k for k in range(len(labels))]
        for centre, label in zip(centres, labels):
            if label == "…":
                self.text(centre, y + 5, label)
            else:
                self.box(centre, y, step - 8, label, tall=32)
        return centres

    def svg(self):
        return (f'<div class="drawing"><svg viewBox="0 0 {self.wide} {self.tall}" '
                f'width="{self.wide}" role="img" aria-label="{html.escape(self.said)}">'
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
                'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" '
                'style="fill:currentColor;stroke:none"/></marker></defs>'
                + "".join(self.parts) + "</svg></div>")

    def key(self):
        """Explains the two kinds of boxes, at the bottom left."""
        y = self.tall - 14
        for x, trained, label in ((8, True, "trained"), (92, False, "given, or computed")):
            self.box(x + 11, y - 4, 22, "", trained=trained, tall=14)
            self.text(x + 28, y, label, small=True, anchor="start")
        return self


def scb():
    d = Drawing(560, 330, "Tokens enter the attention, which the last token selects; its mean goes "
                "through the value matrix and predicts the next token.")
    for x in d.tokens(60, 262, ["x_1", "x_2", "…", "x_s", "…", "x_T"]):
        d.arrow((x, 244), (190 + (x - 190) * 0.35, 190))
    d.box(190, 166, 210, "attention A", "weights a_k of the positions", trained=True)
    d.box(470, 262, 100, "k = x_T+1", tall=32)
    d.arrow((470, 244), (470, 166), (297, 166))
    d.text(478, 206, "selects a_k", small=True, anchor="start")
    d.arrow((190, 144), (190, 118))
    d.box(190, 94, 210, "value V", "learns the transitions P", trained=True)
    d.arrow((190, 72), (190, 46))
    d.text(190, 34, "prediction of y: V X a_k")
    return d.key()


def joma():
    d = Drawing(560, 290, "The weights of the hidden nodes determine the attention, which scales "
                "their own growth.")
    for x in d.tokens(84, 222, ["1", "2", "…", "l", "…", "M"]):
        d.arrow((x, 204), (214 + (x - 214) * 0.5, 162))
    d.box(214, 138, 250, "attention b_l", "a function of Σ_k v²_kl, by the theorem")
    d.arrow((214, 116), (214, 88))
    d.box(214, 64, 250, "K hidden nodes, weights v_kl", "driven by Δ, or to targets μ",
          trained=True)
    d.arrow((339, 64), (440, 64), (440, 138), (341, 138))
    d.text(450, 105, "sets", small=True, anchor="start")
    return d.key()


def joma_joint():
    d = Drawing(560, 340, "A context is weighted by the attention, enters the hidden nodes "
                "together with the query, and gives the class.")
    for x in d.tokens(60, 272, ["1", "2", "…", "l", "…", "M"]):
        d.arrow((x, 254), (190 + (x - 190) * 0.45, 200))
    d.box(190, 176, 230, "attention, logits z", "b_c = x_c weighted by e^(z/τ)", trained=True)
    d.box(470, 272, 110, "query: class c", tall=32)
    d.arrow((190, 154), (190, 126))
    d.arrow((470, 254), (470, 102), (307, 102))
    d.text(476, 180, "r_k", small=True, anchor="start")
    d.box(190, 102, 230, "K hidden nodes, weights v_k, r_k", "φ(v_k·b_c + r_k)", trained=True)
    d.arrow((190, 80), (190, 52))
    d.text(190, 40, "class c: cross-entropy, or linear")
    return d.key()


def markov():
    d = Drawing(560, 330, "A symbol is embedded, passes attention and a feed-forward layer, and is "
                "compared with the embedding to predict the next symbol.")
    for x in d.tokens(118, 262, ["x_1", "…", "x_n−1", "x_n"]):
        d.arrow((x, 244), (x, 226))
    d.box(196, 204, 240, "embedding, scale e", "and positions", trained=True)
    d.arrow((196, 182), (196, 166))
    d.box(196, 144, 240, "attention", "in canonical coordinates: adds nothing", tall=42)
    d.arrow((196, 123), (196, 106))
    d.box(196, 84, 240, "feed-forward layer, weight w", "", trained=True, tall=36)
    d.arrow((196, 66), (196, 44))
    d.text(196, 32, "logit f_x of x_n+1 = 1, with bias b")
    d.arrow((318, 204), (430, 204), (430, 30), (322, 30))
    d.text(438, 120, "the same e", small=True, anchor="start")
    return d.key()


def topic():
    d = Drawing(560, 330, "The words of a document, some hidden, are averaged by attention and "
                "mapped by the value matrix to the hidden word.")
    for x in d.tokens(60, 262, ["z_1", "z_2", "MASK", "z_4", "…", "z_L"], step=56):
        d.arrow((x, 244), (200 + (x - 200) * 0.45, 190))
    d.box(200, 166, 250, "attention, logits Λ", "Λ = W_Kᵀ W_Q, or Λ itself", trained=True)
    d.arrow((200, 144), (200, 118))
    d.box(200, 94, 250, "value W_V", "becomes block-wise by topic", trained=True)
    d.arrow((200, 72), (200, 46))
    d.text(200, 34, "the true word of a selected position")
    d.box(470, 166, 120, "query z_j", "a word, or MASK")
    d.arrow((410, 166), (327, 166))
    return d.key()


def linear_attention():
    d = Drawing(560, 270, "Pairs of the prompt and the query enter a linear attention layer, which "
                "predicts the query's label.")
    for x in d.tokens(80, 202, ["x_1, y_1", "x_2, y_2", "…", "x_N, y_N", "x, ?"], step=72):
        d.arrow((x, 184), (224 + (x - 224) * 0.45, 138))
    d.box(224, 114, 300, "linear attention: U and u", "h = mean of y_i x_i over the prompt",
          trained=True)
    d.arrow((224, 92), (224, 58))
    d.text(224, 44, "prediction u hᵀU x of wᵀx")
    return d.key()


def deep_linear():
    d = Drawing(560, 150, "An input passes L linear layers; the product of their matrices is "
                "the map.")
    d.text(30, 61, "x")
    for k, (x, label) in enumerate([(112, "W_1"), (222, "W_2"), (382, "W_L")]):
        d.arrow(((44, 148, 316)[k], 56), (x - 38, 56))
        d.box(x, 56, 72, label, trained=True)
    d.arrow((258, 56), (282, 56))
    d.text(299, 61, "…")
    d.arrow((420, 56), (462, 56))
    d.text(502, 61, "W x ≈ Σ x")
    return d.key()


def svg(system):
    """Returns the drawing of a system as HTML."""
    return globals()[system.replace("-", "_")]().svg()
