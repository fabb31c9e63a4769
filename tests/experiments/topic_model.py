"""The topic model in full matrices, from its definition."""

import itertools

from experiment import np


class TopicModel:
    """Index 0 is [MASK]; the words of topic t are 1 + t v .. (t+1) v. W_V is the optimum under
    uniform attention."""

    def __init__(self, T=10, v=10, tau=4, mask=0.15, keep=0.1, random=0.1, l2=1e-4):
        self.T, self.v, self.tau, self.n = T, v, tau, T * v
        self.hide, self.keep, self.random, self.l2 = 1 - keep - random, keep, random, l2
        self.outside = mask * random / self.n
        self.inside = (1 - mask * (1 - keep)) / (tau * v) + self.outside
        self.masked = mask * self.hide
        self.W = self.value_optimum()

    def document(self, topics):
        """Returns how often a document of these topics shows each symbol, and how often each is the
        true word."""
        there = np.repeat(np.isin(np.arange(self.T), topics), self.v)
        shown = np.append(self.masked, np.where(there, self.inside, self.outside))
        return shown, np.append(0, there / (self.tau * self.v))

    def value_optimum(self):
        """Returns the optimum of the loss over all possible documents: E[x z'] (E[z z'] +
        l2)^-1."""
        sets = itertools.combinations(range(self.T), self.tau)
        shown, true = (np.array(one) for one in zip(*map(self.document, sets)))
        zz, xz = shown.T @ shown / len(shown), true.T @ shown / len(shown)
        return np.linalg.solve(zz + self.l2 * np.eye(self.n + 1), xz.T).T

    def loss(self, same_word=0.0, same_topic=0.0, mask_key=0.0):
        """Returns the loss with these logits of a word's query and all others 0. Documents differ
        only by the names of their topics, so one document suffices."""
        shown, true = self.document(range(self.tau))

        def error(query, truth):
            """Returns the mean error over the true words."""
            logit = np.zeros(self.n + 1)
            if query > 0:
                topic = 1 + (query - 1) // self.v * self.v
                logit[0] = mask_key
                logit[topic:topic + self.v] = same_topic
                logit[query] = same_word
            weight = shown * np.exp(logit - logit.max())
            output = self.W @ (weight / weight.sum())
            return output @ output - 2 * truth @ output + 1

        share = self.tau / self.T
        itself = np.eye(self.n + 1)[1]
        sum_of = self.hide * error(0, true) + self.keep * error(1, itself)
        sum_of += self.random * share * error(1, true)
        if share < 1:
            sum_of += self.random * (1 - share) * error(self.n, true)
        return sum_of + self.l2 * np.sum(self.W**2)
