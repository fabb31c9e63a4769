#include <cmath>
#include <string>

#include "dynamics/topic.hpp"
#include "dynamics/topic/observables.hpp"

namespace popflow::topic {

namespace {

constexpr const char* kEquations =
    R"(Data. T disjoint topics of v words, n = Tv. A document has tau distinct topics, all sets
equally likely, and infinitely many words, i.i.d. uniform over its tau v words. Each position is
selected with probability p_m. A selected position keeps its word with probability p_c, shows a
uniformly random one of all n words with probability p_r, and otherwise shows [MASK] (index 0). A
document's input shows, with frequency
  [MASK]                  z_0   = p_m (1 - p_c - p_r)
  a word of its topics    z_in  = (1 - p_m (1 - p_c))/(tau v) + p_m p_r/n
  another word            z_out = p_m p_r/n

Model. f_j = W_V Z softmax_i(Lambda[z_i, z_j]): one-hot embeddings, identity decoder; W_V and the
logits Lambda (key, query) are (n+1) x (n+1). With --parameterization factored Lambda = W_K'W_Q.
Row 0 of W_V starts at 0 and stays there.

Loss. |f - e_x|^2 (no 1/2) with x the true word, mean over the selected positions, plus
l2 |W_V|_F^2. With w_g the attention to one word of kind g, t_g that to its whole topic, w_all that
to all words and w_0 that to [MASK], the output at a word of kind g is
  f_g = (d - s) w_g + (s - u) t_g + u w_all + m w_0
The population loss is a finite sum over the symbols that a selected position can show: [MASK]; a
word of the document's topics (the true word, or a random one in these topics); a word outside of
them.

Symmetric coordinates. If no permutation of words within topics, or of topics, changes the start,
the same holds for the flow, exactly. (If nearby states lead away from this symmetry, full matrices
lose the symmetry in time by rounding. Symmetric coordinates keep it.) Entries of W_V, with their
multiplicities: d same word (n), s same topic (n(v-1)), u other topic (n(n-v)), m mask column (n).
Entries of Lambda: query a word: a same word (n), b same topic (n(v-1)), c other topic (n(n-v)), k
mask key (n); query [MASK]: e word key (n), f mask key (1). Gradient descent of the matrices is
  dc/dt = -(1/multiplicity of c) dL/dc

Factors. dW_K/dt = -W_Q G', dW_Q/dt = -W_K G with G = dL/dLambda. Factors that start as multiples of
the identity stay in the span of three invariant subspaces, on which all matrices multiply
separately: words within a topic (rank T(v-1)), between topics (rank T-1), and a 2 x 2 block on the
constant vector 1/sqrt(n) and [MASK]:
  d key_within/dt  = -query_within G_within     G_within  = G_a - G_b
  d query_within/dt = -key_within G_within      G_between = G_a + (v-1) G_b - v G_c
  d key_block/dt   = -query_block G_block'      G_block = [G_a + (v-1)G_b + (n-v)G_c, sqrt(n) G_e;
  d query_block/dt = -key_block G_block                    sqrt(n) G_k,               G_f]

Training.
  joint      trains all parameters
  value      trains W_V; the attention is uniform
  attention  trains the attention; W_V stays at its start
  embedding  uniform attention and f = E z with E = W_E'W_E, dW_E/dt = -W_E (G + G'), G = dL/dE. The
             loss includes only the words' outputs, and l2 acts on |E|_F^2. The fields value_* are
             the entries of E, the inner products of the embeddings.

Exact results. With uniform attention the flow of W_V is linear,
  dW/dt = 2 E[x z'] - 2 W E[z z'] - 2 l2 W
and has a closed form. Its limit is block-wise by topic (d = s), and unique for l2 > 0. At l2 = 0
the limit is the pseudo-inverse's solution plus the part of the start on which the loss does not
depend, because E[z z'] has rank T at most. Conserved are W_K W_K' - W_Q W_Q' (factored) and the sum
of each column of Lambda, a + (v-1) b + (n-v) c + k and n e + f (direct). From equal factors
|W_K|_F = |W_Q|_F, and Lambda within and between topics is a square, which cannot become negative;
direct logits can. In embedding training only l2 acts within topics: d - s = 1/(1/init-scale^2 + 8 l2 t).

Starts. --init-from and a problem file override --value-init. Direct logits start at
--init-logit-same-word and so on (0 by default), which must agree with the values in a file. When
factored, W_K = W_Q = init-scale I; W_E = init-scale I. With direct logits the states with d = s and
a = b form an invariant, unstable manifold, on which rounding decides where a joint run goes. A
start on this manifold is refused, and so is a start within rounding of the manifold (d - s within
1e-12 of the 1/v to which they grow, a - b within 1e-12). --value-init identity starts from
d - s = init-scale, which may be negative.

Landscape. With --t-end 0 a sweep over starts is a map of the loss. Take --train attention with
direct logits, W_V at its optimum under uniform attention, and the other logits at 0. A word of the
query's topic then has alpha = e^b times the weight of a word of another topic, and the queried word
itself beta = e^a times. Because d = s there, the loss depends only on (v-1) alpha + beta: its
minima form a line in the plane of alpha and beta,
  popflow sweep topic --train attention --parameterization direct --t-end 0
    --over init-logit-same-topic=-2:6:81 --over init-logit-same-word=-2:6:81

Full matrices. Noise, and starts outside of the symmetric subspaces, leave symmetric coordinates.
With --mode sde and sgd, and from a start of matrices (such as W_V, in a problem file or from
--init-from), the state is the matrices themselves. The class means of W_V and Lambda are recorded
under the scalars' names. The flow is exact at any state. With uniform attention the flow needs
E[z z'] and E[x z'] alone. Otherwise the flow is the mean over all C(T, tau) sets of topics, at most
100 000 of them. A word's frequency has two values, so the n^2 keys and queries are summed once per
topic, and a set costs tau^2 operations per query. The class means of a noisy run follow the
symmetric flow up to second-order effects of the noise. attention_* are means over documents, over
queries of a document's words, and over keys of the kind. There is no Jacobian, so rosenbrock4 is
not possible.

Sampled model. A document has --document-length words of its topics. Attention is a softmax over its
own positions, and the loss is the mean over its selected positions plus the l2 term. The loss of a
minibatch is the mean over its documents. A document without a selected position, which has
probability (1 - p_m)^length, has loss 0, as with the masked mean of training programs. Finite
documents cause a bias of order 1/length; observables remain those of infinitely long documents.
With uniform attention the bias is known exactly, except for documents without selected positions:
(1/length) (diag(E z) - E[z_D z_D']) is added to E[z z'], and
(keep-prob/length) (diag(E x) - E[u_D u_D']) to E[x z']. z_D are the frequencies given a document's
topics, and u_D those of its words before the masking.
Isotropic noise does not move symbols that no document shows or queries. Such noise also conserves a
sum that the softmax makes every sample conserve: the sum of each column of Lambda over the keys
(all symbols that documents show). For factors this is the sum of W_K's columns over these keys,
because dW_K = W_Q G' with 1'G = 0.

What to expect. Factored, joint, from zero: |W_V| grows first, to its value under uniform attention,
while the factors stay near their start. Then the factors grow, and at the default sizes words
attend to their own topic. This state is a saddle: much later, at t = 3.5e7, each word attends to
itself. The two signs of d - s lead the direct flow to two different attractors: attention to the
same word, or to the other words of its topic. The preferred attention depends on the sizes and the
masking. With 4 topics of 3 words, 2 in a document, other topics end above the own topic. With
--keep-prob 0 the attention does not distinguish keys.

Stiffness. W_V's fastest rate (0.044 at the default sizes) bounds the steps of explicit methods, and
logits move over times of 1e5 and more. The Jacobian is exact, so --method rosenbrock4 has no such
bound: to t = 1e7 dopri5 takes 63 000 steps, rosenbrock4 4 300.)";

ParameterTable parameters() {
  ParameterTable t;
  const auto size = [&](const char* name, const char* value, const char* noisy, const char* meaning,
                        const char* symbol) {
    t.push_back({.name = name,
                 .kind = Kind::integer,
                 .default_text = value,
                 .meaning = meaning,
                 .symbol = symbol,
                 .range = {1, largest_whole},
                 .default_note = noisy});
  };
  size("topics", "10", "3", "number of topics", "T");
  size("words-per-topic", "10", "2", "number of words in a topic", "v");
  size("topics-per-document", "4", "2", "number of topics in a document", "tau");
  t.push_back({.name = "mask-prob",
               .kind = Kind::real,
               .default_text = "0.15",
               .meaning = "probability that a position is selected",
               .symbol = "p_m",
               .range = {.low = 0, .high = 1, .low_open = true}});
  t.push_back({.name = "keep-prob",
               .kind = Kind::real,
               .default_text = "0.1",
               .meaning = "probability that a selected position keeps its word",
               .symbol = "p_c",
               .range = {0, 1}});
  t.push_back({.name = "random-prob",
               .kind = Kind::real,
               .default_text = "0.1",
               .meaning = "probability that a selected position shows a random word; at most 1 - "
                          "keep-prob",
               .symbol = "p_r",
               .range = {0, 1}});
  t.push_back({.name = "l2",
               .kind = Kind::real,
               .default_text = "1e-4",
               .meaning = "weight of |W_V|_F^2 (embedding: of |E|_F^2) in the loss",
               .range = {.low = 0}});
  t.push_back(
      {.name = "train",
       .kind = Kind::word,
       .default_text = "joint",
       .meaning = "trained parameters: W_V and the attention, one of them, or the embedding",
       .words = {"joint", "value", "attention", "embedding"}});
  t.push_back({.name = "parameterization",
               .kind = Kind::word,
               .default_text = "factored",
               .meaning = "train W_K and W_Q, or the logits themselves; no effect with uniform "
                          "attention",
               .words = {"factored", "direct"},
               .where = {{"train", {"joint", "attention"}}}});
  t.push_back({.name = "value-init",
               .kind = Kind::word,
               .default_text = "",
               .meaning = "start of W_V: 0, init-scale on the diagonal of the words, or the "
                          "optimum of value training",
               .words = {"zero", "identity", "optimum"},
               .default_note = "zero; attention: optimum; joint with direct: identity"});
  t.push_back({.name = "init-scale",
               .kind = Kind::real,
               .default_text = "0.01",
               .meaning = "size of the start: of the factors, of W_E, of W_V with value-init "
                          "identity (may be negative)"});
  const auto logit = [&](const char* name, const char* symbol, const char* meaning) {
    t.push_back({.name = name,
                 .kind = Kind::real,
                 .default_text = "0",
                 .meaning = std::string("start of the direct logit with ") + meaning,
                 .symbol = symbol});
  };
  logit("init-logit-same-word", "a", "the queried word itself as key");
  logit("init-logit-same-topic", "b", "another word of the query's topic as key");
  logit("init-logit-other-topic", "c", "a word of another topic as key");
  logit("init-logit-mask-key", "k", "[MASK] as key, a word as query");
  logit("init-logit-word-key", "e", "a word as key, [MASK] as query");
  logit("init-logit-mask-mask", "f", "[MASK] as key and query");
  t.push_back({.name = "document-length",
               .kind = Kind::integer,
               .default_text = "1000",
               .meaning =
                   "number of words in a sampled document; no effect in a flow, whose documents "
                   "are infinitely long",
               .symbol = "L",
               .range = {1, largest_whole},
               .default_note = "10",
               .modes = {"sde", "sgd"}});
  return t;
}

std::vector<FieldInfo> fields() {
  std::string source = "exact reduction of the flow, arXiv 2303.04245";
  const std::string attends = "train joint or attention";
  const std::string embeds = "train embedding";
  const std::string factored = attends + ", factored";
  std::vector<FieldInfo> f;
  const auto add = [&](const std::string& name, const std::string& symbol,
                       const std::string& meaning, const std::string& when,
                       const std::vector<std::string>& dimensions = {}) {
    f.push_back({name, dimensions, symbol, meaning, source, when});
  };
  // In full matrices, values and logits are means over the entries of a kind.
  add("value_same_word", "d", "W_V (embedding: E) from a word to itself", "");
  add("value_same_topic", "s", "W_V (embedding: E) between two words of a topic", "");
  add("value_other_topic", "u", "W_V (embedding: E) between words of two topics", "");
  add("value_mask", "m", "W_V (embedding: E) from [MASK] to a word", "");
  add("logit_same_word", "a", "Lambda, key the queried word itself", attends);
  add("logit_same_topic", "b", "Lambda, key another word of the query's topic", attends);
  add("logit_other_topic", "c", "Lambda, key a word of another topic", attends);
  add("logit_mask_key", "k", "Lambda, key [MASK], query a word", attends);
  add("logit_word_key", "e", "Lambda, key a word, query [MASK]", attends);
  add("logit_mask_mask", "f", "Lambda, key and query [MASK]", attends);
  add("key_within", "W_K", "W_K on vectors that sum to 0 in every topic", factored);
  add("query_within", "W_Q", "W_Q on vectors that sum to 0 in every topic", factored);
  add("key_between", "W_K", "W_K on vectors constant within topics that sum to 0", factored);
  add("query_between", "W_Q", "W_Q on vectors constant within topics that sum to 0", factored);
  add("key_block", "W_K", "W_K on the constant vector and [MASK]", factored,
      {"block_out", "block_in"});
  add("query_block", "W_Q", "W_Q on the constant vector and [MASK]", factored,
      {"block_out", "block_in"});
  add("embedding_within", "W_E", "W_E on vectors that sum to 0 in every topic", embeds);
  add("embedding_between", "W_E", "W_E on vectors constant within topics that sum to 0", embeds);
  add("embedding_block", "W_E", "W_E on the constant vector and [MASK]", embeds,
      {"block_out", "block_in"});
  source = "arXiv 2303.04245";  // the paper's own matrices
  const std::string full = "full matrices";
  add("W_V", "W_V", "value matrix; row 0 stays 0", full + ", not embedding", {"word", "word_key"});
  add("Lambda", "Lambda", "logits of the attention", full + ", " + attends + ", direct",
      {"word_key", "word_query"});
  add("W_K", "W_K", "key matrix", full + ", " + factored, {"word", "word_key"});
  add("W_Q", "W_Q", "query matrix", full + ", " + factored, {"word", "word_query"});
  add("W_E", "W_E", "embedding matrix", full + ", " + embeds, {"word", "word_key"});
  return f;
}

SystemInfo make_info() {
  SystemInfo info;
  info.name = "topic";
  info.title = "Topic models: one-layer attention with the masked-language-model loss";
  info.source =
      "Li, Li, Risteski, How Do Transformers Learn Topic Structure: Towards a Mechanistic "
      "Understanding, ICML 2023, arXiv 2303.04245";
  info.equations = kEquations;
  info.parameters = parameters();
  info.dimensions = {{"block_out", "constant vector of the words, [MASK]: the output of a block"},
                     {"block_in", "constant vector of the words, [MASK]: the input of a block"},
                     {"word", "0: [MASK], then the words, topic by topic: the output of a matrix"},
                     {"word_key", "0: [MASK], then the words: token of a key"},
                     {"word_query", "0: [MASK], then the words: token of a query"}};
  info.fields = fields();
  info.observables = observables().infos();
  info.events = events().infos();
  info.constants = {
      {"z_mask", "z_0", "frequency of [MASK] in a document's input"},
      {"z_inside", "z_in", "frequency of a word of the document's topics"},
      {"z_outside", "z_out", "frequency of another word"},
      {"value_norm_optimum", "|W_V*|_F", "norm of the limit of value training from zero"}};
  info.problem = {
      {"value_same_word",
       {},
       "start of a state field, under the field's name; likewise for all fields of the variant. "
       "Fields that are absent start according to --value-init and --init-scale"},
      {"W_V",
       {"word", "word_key"},
       "start of a matrix, under its name; likewise for all matrices of the variant. Entries "
       "must be finite, and row 0 of W_V must be 0; the run then uses full matrices"}};
  info.figure =
      "norm_value norm_key norm_query at value_norm_optimum; attention_same_word "
      "attention_same_topic attention_other_topic; loss; value_same_word value_same_topic "
      "value_other_topic; W_V beside topics; W_E beside topics";
  info.figure_of_sweeps = "stage1_end stage2_start attention_same_topic loss";
  info.end =
      "10 over the slowest rate of the linear flow (value), 4 times this (embedding); otherwise "
      "until the attention has moved, at most 1000 times this";
  return info;
}

}  // namespace

const BoundTable<ObservableInfo, Evaluation>& observables() {
  static const std::string paper = "arXiv 2303.04245";
  static const std::string relative =
      "weight of a key divided by its frequency, for queries of the document's words (uniform: 1)";
  static const BoundTable<ObservableInfo, Evaluation> table =
      std::vector<Bound<ObservableInfo, Evaluation>>{
          {{"loss", "L", "population loss with the l2 term", paper, 1e-16},
           [](const Evaluation& x) { return x.loss + x.penalty; }},
          // Square of the rounding error of the distance from the minimum.
          {{"excess_loss", "L - L*",
            "population loss above its minimum (train value; NaN elsewhere)", paper, 1e-30},
           [](const Evaluation& x) { return x.excess; }},
          {{"attention_same_word", "e^a/S", relative + "; key the same word", paper},
           [](const Evaluation& x) { return x.attention.same_word; }},
          {{"attention_same_topic", "e^b/S", relative + "; key another word of its topic", paper},
           [](const Evaluation& x) { return x.attention.same_topic; }},
          {{"attention_other_topic", "e^c/S", relative + "; key a word of another topic", paper},
           [](const Evaluation& x) { return x.attention.other_topic; }},
          {{"norm_value", "|W_V|_F", "Frobenius norm of W_V (embedding: of E)", paper},
           [](const Evaluation& x) { return x.norm_value; }},
          {{"norm_logit", "|Lambda|_F", "Frobenius norm of the logits", paper},
           [](const Evaluation& x) { return x.norm_logit; }},
          {{"norm_key", "|W_K|_F", "Frobenius norm of W_K (NaN if there is none)", paper},
           [](const Evaluation& x) { return x.norm_key; }},
          {{"norm_query", "|W_Q|_F", "Frobenius norm of W_Q (NaN if there is none)", paper},
           [](const Evaluation& x) { return x.norm_query; }}};
  return table;
}

const BoundTable<EventInfo, EventEvaluation>& events() {
  static const BoundTable<EventInfo, EventEvaluation> table =
      std::vector<Bound<EventInfo, EventEvaluation>>{
          {{"stage1_end",
            "|W_V|_F is first within 1% of its limit under uniform attention (joint, value)"},
           [](const EventEvaluation& x) {
             return 0.01 * x.norm_value_at_end - std::abs(x.norm_value - x.norm_value_at_end);
           }},
          {{"stage2_start", "|W_K|_F is first twice as large as at the start (factored)"},
           [](const EventEvaluation& x) { return x.norm_key - 2 * x.norm_key_at_start; }}};
  return table;
}

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::topic
