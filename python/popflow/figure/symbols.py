"""Typesets the file's plain-text symbols as mathematics: mu_k, V', |W|_F, <a, b>."""

from __future__ import annotations

import re
from functools import cache

GREEK = set("alpha beta gamma delta epsilon eta theta kappa lambda mu nu xi pi rho sigma tau phi "
            "chi psi omega Gamma Delta Theta Lambda Sigma Phi Psi Omega".split())
OPERATORS = {"sum": r"{\sum}", "max": r"\mathrm{max}", "min": r"\mathrm{min}", "log": r"\log ",
             "exp": r"\exp ", "grad": r"\nabla ", "bbar": r"\bar{b}"}
SYMBOL = re.compile(r"(?<=\w)(_([A-Z0-9]+(?![A-Za-z0-9])|\{|\w\b)|\^[\w{])|^\|.*\|$|^\w'$")
TOKEN = re.compile(r"->|[_^]\{|[_^]|[A-Za-z]+|\d+(?:\.\d+)?|\s+|.")


@cache
def mathematics(text: str) -> str:
    """Returns the symbol as matplotlib mathematics; unchanged if matplotlib could not parse it."""
    from matplotlib.mathtext import MathTextParser

    found = f"${converted(text)}$"
    try:
        MathTextParser("path").parse(found)
    except ValueError:
        return text.replace("$", r"\$")
    return found


def converted(text: str) -> str:
    tokens = TOKEN.findall(text)
    written: list[str] = []
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        before = tokens[place - 1] if place else ""
        written.append(one(token, before, after))
    return "".join(written).strip()


def one(token: str, before: str, after: str) -> str:
    """Returns a token as mathematics, given its neighbours."""
    index = before in ("_", "^")
    if token.isalpha():
        return f"{{{letters(token)}}}" if index else letters(token)
    if index:
        return f"{{{token}}}"
    if token.isspace():
        return r"\;" if (before.isalnum() or before == "'") and after.isalnum() else " "
    if token == "1" and after == "'":
        return r"\mathbf{1}"
    return {"'": r"^{\top}", "<": r"\langle ", ">": r"\rangle ", "->": r"\to ",
            "*": "^{*}"}.get(token, token)


def letters(token: str) -> str:
    if token in OPERATORS:
        return OPERATORS[token]
    if token in GREEK:
        return rf"\{token} "
    if len(token) == 1 or token.isupper():
        return token
    return token if len(set(token)) == 1 else rf"\mathrm{{{token}}}"


def prose(text: str) -> str:
    """Returns a sentence with its symbols (with index or power, or Greek) as mathematics."""
    text = text.replace("->", r"$\to$").replace(" - ", " $-$ ")
    return " ".join(mathematics(word) if is_symbol(word) else word for word in text.split())


def is_symbol(word: str) -> bool:
    return word in GREEK or SYMBOL.search(word) is not None
