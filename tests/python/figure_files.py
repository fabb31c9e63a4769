"""Small files of every kind and system, for tests of figures."""

import popflow

FILES = {
    "run": (popflow.run, "scb", {"vocab_size": 4, "context_length": 200, "t_end": 60}),
    "stages": (popflow.run, "scb", {"vocab_size": 4, "context_length": 20, "schedule": "two-stage",
                                    "coordinates": "support"}),
    "tokens": (popflow.run, "joma", {"tokens": 12, "activation": "nonlinear", "saves": 51}),
    "drives": (popflow.run, "joma", {"tokens": 6, "saves": 21, "t_end": 0.5}),
    "early": (popflow.run, "joma", {"tokens": 6, "saves": 21}),
    "nodes": (popflow.run, "joma", {"tokens": 6, "nodes": 2, "saves": 21}),
    "chain": (popflow.run, "markov", {"p": 0.2, "q": 0.3, "e0": 0.3, "w0": -1.2}),
    "symmetric": (popflow.run, "markov", {"p": 0.3, "q": 0.3}),
    "independent": (popflow.run, "markov", {"p": 0.2, "q": 0.8, "w0": -0.3, "e0": 1.5}),
    "squeezed": (popflow.run, "markov", {"p": 0.3, "q": 0.301, "e0": 1000, "w0": -1000}),
    "joint": (popflow.run, "joma-joint", {"tokens": 4, "classes": 3, "saves": 21}),
    "topic": (popflow.run, "topic", {"topics": 4, "words_per_topic": 3, "topics_per_document": 2,
                                     "t_end": 1e3}),
    "in-context": (popflow.run, "linear-attention", {"eigenvalues": [1, 0.5]}),
    "modes": (popflow.run, "deep-linear", {"strengths": [2, 1]}),
    "ensemble": (popflow.run, "markov", {"mode": "sgd", "runs": 12, "t_end": 30, "saves": 16,
                                         "learning_rate": 0.2, "e0": 0.3, "w0": -0.9}),
    "comparison": (popflow.compare, "markov", {"learning_rate": 0.2, "batch_size": 8, "runs": 8,
                                               "t_end": 10, "saves": 6}),
    "single runs": (popflow.compare, "markov", {"learning_rate": 0.2, "runs": 1, "t_end": 5,
                                                "saves": 6}),
    "rates": (popflow.compare, "markov", {"learning_rates": [0.4, 0.2, 0.1], "batch_size": 4,
                                          "runs": 8, "t_end": 8, "saves": 3}),
    "basins": (popflow.sweep, "markov", {"over": {"w0": popflow.linear(-2, 1.9, 14),
                                                  "e0": popflow.linear(0.1, 2, 12)},
                                         "p": 0.2, "q": 0.3}),
    "lengths": (popflow.sweep, "scb", {"over": {"context_length": popflow.logarithmic(100, 1e5, 4)},
                                       "coordinates": "signal"}),
    "chains": (popflow.sweep, "markov", {"over": {"chain": {"p": [0.1, 0.4], "q": [0.2, 0.3]},
                                                  "w0": popflow.linear(-1, 1, 5)}}),
    "series": (popflow.sweep, "scb", {"over": {"context_length": popflow.logarithmic(100, 1e5, 4)},
                                      "coordinates": "signal", "record": "series", "t_end": 50}),
    "some diverge": (popflow.sweep, "markov", {
        "over": {"learning_rate": [0.05, 0.39, 0.41]}, "mode": "sgd", "batch_size": 1, "e0": 3,
        "w0": 3, "t_end": 12, "runs": 12, "record": "series", "saves": 3}),
    "rates too high": (popflow.sweep, "markov", {
        "over": {"learning_rate": [0.05, 0.1, 1, 2]}, "mode": "sgd", "batch_size": 1, "e0": 3,
        "w0": 3, "t_end": 12, "runs": 4}),
    "fractions": (popflow.sweep, "markov", {
        "over": {"batch_size": [1, 16], "w0": popflow.linear(-1.2, -0.6, 4),
                 "e0": popflow.linear(0.1, 0.7, 4)},
        "mode": "sgd", "learning_rate": 0.2, "t_end": 50, "runs": 4, "reduce": "runs"}),
}


def maker(folder):
    """Returns a function that makes each file once, in the folder."""
    known = {}

    def make(name):
        if name not in known:
            command, system, options = FILES[name]
            try:
                known[name] = command(system, **options, output=folder / f"{name}.h5", show=False)
            except popflow.Diverged as ended:  # the run blows up
                known[name] = popflow.open(ended.path)
        return known[name]

    return make
