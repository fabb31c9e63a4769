#include <cmath>

#include "dynamics/joma_joint.hpp"
#include "dynamics/joma_joint/observables.hpp"
#include "popflow/math.hpp"

namespace popflow::joma_joint {

namespace {

constexpr const char* kPaper = "arXiv 2310.00535";

constexpr const char* kEquations =
    R"(Data. M contextual tokens l, C classes c with weights p_c. A sample is a class c ~ p (the query
token and what is to be predicted go with it) and a context of tokens drawn i.i.d. from x_c, which
sums to 1. The flow is the limit of long contexts, where a context's shares are x_c.

Model. K hidden nodes with weights v_k (M) on the attended context and r_k on the query; attention
logits z (M); temperature tau; * is entry by entry:
  linear   b_c = x_c * z
  exp      b_c = x_c * e^(z/tau)
  softmax  b_c = x_c * e^(z/tau) / (x_c' e^(z/tau))
  h_kc = v_k' b_c + r_k ;  output phi(h), phi the identity, relu, h^2,
           gelu h Phi(h) with the normal law's Phi, silu h/(1 + e^-h), or tanh h

Loss. cross-entropy (K = C): L = sum_c p_c (log sum_k e^phi(h_kc) - phi(h_cc)).
stationary: L = -sum_c p_c sum_k g_kc phi(h_kc) with g constant.

Flow, minus the gradient of the loss:
  dv_k/dt = sum_c p_c g_kc phi'(h_kc) b_c
  dr_k/dt = sum_c p_c g_kc phi'(h_kc)
  dz/dt   = sum_c p_c (db_c/dz)' sum_k g_kc phi'(h_kc) v_k
  cross-entropy: g_kc = 1{k=c} - softmax(phi(h_:c))_k ;  stationary: g_kc = 1{k=c} - 1/K
z costs no product of its own: sum_c p_c b_c * sum_k g_kc phi'(h_kc) v_k = sum_k v_k * dv_k/dt.

Relu. phi' jumps at h = 0 (and is 0 there). Where g > 0 (k = c) the flow passes the jump; where
g < 0 both sides push towards h = 0, and the flow soon slides along that surface. With
relu-smoothing 0 such slides are followed as Filippov's flow: phi' on a surface is the number in
[0,1] that keeps dh/dt = 0, found for all surfaces at once from the Gram matrix of the gradients of
h. Which surfaces are slid along is a box-constrained least-squares problem; a slide ends where phi'
reaches 0 or 1, and no step crosses a surface in the wrong regime. Along n
surfaces a right-hand side costs n^3 + n^2 M + C^2 M more.
relu-smoothing eps integrates eps log(1 + e^(h/eps)) instead: its trajectory differs by O(eps) (0.7
to 7 eps in the tests), unless some h_kk comes within eps of 0; there both sides push away, and the
smooth relu may go to the other one. V = r = 0 is a state of rest, as phi' is 0 there.

Exact results (JoMA, theorem 1), conserved for every activation and back-propagation:
  linear   z^2 - sum_k v_k^2                       constant for each token
  exp      z - sum_k v_k^2 / (2 tau)               constant for each token
  softmax  sum_l z_l, and sum_l v_kl - r_k         constant, the second for each node
  softmax  z - (sum_k v_k^2 - bbar sum_k |v_k|^2) / (2 tau) with bbar = sum_c p_c b_c constant:
           approximate. bbar is that of the start: with the present bbar(t) the agreement is lost.
theorem_residual is its largest change over tokens since the start; correlation is that of z with
the theorem's z from the same start, correlation_weights and correlation_norm with each term alone.

Coordinates. integrated: z is no state but follows from V by the theorem. Exact for exp, and for
linear attention from starts with z^2 > sum_k v_k^2, where z keeps its sign (others are refused); an
approximation for softmax. z is recorded all the same, and theorem_residual is then 0.

Sampled model. Each sample is a class c ~ p with --context-length tokens i.i.d. from x_c; its gradient
is that of its own class at the context's empirical shares in the place of x_c, averaged over the
batch. A finite context is a bias that no batch size takes away: none for linear or exp attention
with identity and stationary; of order 1/length where the direction is smooth in the shares; and
without such a rate near a relu's kink. Compare several lengths. With noise only full coordinates
are exact, and a sharp relu has no slides: phi' is 1{h > 0}, 0 at the kink, also in sde's drift.
Single samples, and so SGD but for rounding, keep with softmax sum_l z_l and, of every node,
sum_l v_kl - r_k; with the identity sum_k v_kl of every token and sum_k r_k, where sum_k g_kc = 0
(cross-entropy, or K >= C), and under stationary the differences of nodes beyond the classes; tokens
that no class has never move. Isotropic noise is projected on these.
The quadratic invariants are kept by
no discrete step: one of size eta moves z - sum_k v_k^2/(2 tau) (exp) by
-eta^2 sum_k (dv_k)^2/(2 tau) and z^2 - sum_k v_k^2 (linear) by eta^2 [(dz)^2 - sum_k (dv_k)^2],
which is not positive where z^2 >= sum_k v_k^2: a drift one way, of order eta.

Start. v, r, z are init-scale times standard normals, to z is added init-logit. An addition to all
logits changes nothing under softmax and is a factor under exp; linear attention sees nothing at
z = 0, so there it is 1 unless given. Data gaussian: with H = floor(M/2), tokens l < H of class c
proportional to exp(-(l - cH/C)^2 / (0.3 H^2)), the others uniform on (0,1/2), then normalised; for
M = C = 20 that of the paper's figures 2 and 3.

What to expect. Under cross-entropy attention moves to tokens that distinguish the classes: z grows
where sum_k v_k^2 does, entropy falls, and weights grow ever more slowly once the classes are
distinguished. Under stationary back-propagation the drive never ends: softmax attention collapses
on few tokens, and with exp attention, or phi = h^2, weights can blow up in finite time, which is
reported. Exp attention makes a flow stiff as its logits grow: step sizes are then limited by its
fastest rate.

Observables. attention_entropy is the mean over classes (by p_c) of the entropy of |b_c| divided by
its sum, effective_tokens its exponential.)";

ParameterTable parameters() {
  ParameterTable t;
  t.push_back({.name = "tokens",
               .kind = Kind::integer,
               .default_text = "20",
               .meaning = "number of contextual tokens",
               .symbol = "M",
               .range = {1, largest_whole}});
  t.push_back({.name = "classes",
               .kind = Kind::integer,
               .default_text = "20",
               .meaning = "number of classes",
               .symbol = "C",
               .range = {1, largest_whole}});
  t.push_back({.name = "nodes",
               .kind = Kind::integer,
               .default_text = "",
               .meaning = "number of hidden nodes; cross-entropy needs as many as classes",
               .symbol = "K",
               .range = {1, largest_whole},
               .default_note = "as many as classes"});
  t.push_back({.name = "attention",
               .kind = Kind::word,
               .default_text = "softmax",
               .meaning = "how logits weigh the tokens of a context",
               .words = {"softmax", "exp", "linear"}});
  t.push_back({.name = "activation",
               .kind = Kind::word,
               .default_text = "identity",
               .meaning = "activation of the hidden nodes",
               .symbol = "phi",
               .words = {"identity", "relu", "square", "gelu", "silu", "tanh"}});
  t.push_back({.name = "relu-smoothing",
               .kind = Kind::real,
               .default_text = "0",
               .meaning = "relu as eps log(1 + e^(h/eps)); 0: the relu itself, whose kinks the "
                          "flow slides along",
               .symbol = "eps",
               .range = {.low = 0},
               .where = {{"activation", {"relu"}}}});
  t.push_back({.name = "temperature",
               .kind = Kind::real,
               .default_text = "1",
               .meaning = "temperature of the attention; no effect with linear",
               .symbol = "tau",
               .range = {.low = 1e-50},
               .where = {{"attention", {"softmax", "exp"}}}});
  t.push_back({.name = "backprop",
               .kind = Kind::word,
               .default_text = "cross-entropy",
               .meaning = "gradient that comes back to the nodes",
               .symbol = "g",
               .words = {"cross-entropy", "stationary"}});
  t.push_back({.name = "coordinates",
               .kind = Kind::word,
               .default_text = "full",
               .meaning = "state of the flow; integrated: z from V by the theorem, exact for exp "
                          "and linear",
               .words = {"full", "integrated"}});
  t.push_back({.name = "data",
               .kind = Kind::word,
               .default_text = "gaussian",
               .meaning = "drawn context distributions: a profile that moves with the class, or "
                          "uniform on the simplex",
               .words = {"gaussian", "dirichlet"},
               .where = {{.option = "problem", .absent = true}}});
  t.push_back({.name = "init-scale",
               .kind = Kind::real,
               .default_text = "0.01",
               .meaning = "standard deviation of the normal starts of v, r and z",
               .range = {.low = 0}});
  t.push_back({.name = "init-logit",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "added to the start of every logit z",
               .default_note = "0; with linear attention 1"});
  t.push_back({.name = "context-length",
               .kind = Kind::integer,
               .default_text = "100",
               .meaning = "tokens of a sampled context, a bias where it is short; no effect in a "
                          "flow, which is its limit",
               .range = {1, largest_whole},
               .modes = {"sde", "sgd"}});
  return t;
}

SystemInfo make_info() {
  SystemInfo info;
  info.name = "joma-joint";
  info.title = "JoMA, joint: an MLP layer and the attention below it are trained together";
  info.source =
      "Tian, Wang, Zhang, Chen, Du, JoMA: Demystifying Multilayer Transformers via JOint Dynamics "
      "of MLP and Attention, ICLR 2024, arXiv 2310.00535";
  info.equations = kEquations;
  info.parameters = parameters();
  info.dimensions = {{"token", "contextual token"}, {"node", "hidden node"}, {"class", "class"}};
  const std::string paper = kPaper;
  info.fields = {
      {"V", {"token", "node"}, "v_k", "weights of the hidden nodes", paper + ", section 3"},
      {"r", {"node"}, "r_k", "residual weights of the hidden nodes", paper + ", section 3"},
      {"z", {"token"}, "z", "attention logits", paper + ", section 3"}};
  info.observables = observable_table().infos();
  info.events = event_table().infos();
  info.invariants = {
      {"theorem_residual", InvariantInfo::Form::zero,
       "z^2 - sum_k v_k^2 (linear attention) or z - sum_k v_k^2/(2 tau) (exp) of each token"},
      {"logit_sum", InvariantInfo::Form::constant, "sum_l z_l: with softmax attention"}};
  info.problem = {{"X",
                   {"token", "class"},
                   "contexts of the classes; not negative, columns sum to 1 within 1e-9"},
                  {"class_weight", {"class"}, "p_c; sums to 1 (optional: uniform)"},
                  {"V0", {"token", "node"}, "start of v (optional, as the two others)"},
                  {"r0", {"node"}, "start of r"},
                  {"z0", {"token"}, "start of z"}};
  info.unreduced = {{"coordinates", "full"}};
  info.figure =
      "correlation correlation_weights correlation_norm; attention_entropy; loss; z; stable_rank; "
      "theorem_residual";
  info.figure_of_sweeps = "correlation attention_entropy loss";
  info.rungs = {
      {"integrated", "its flow in integrated coordinates", {{"coordinates", "integrated"}}}};
  info.end =
      "10 times the number of classes under cross-entropy (50 times with the square), 5 (10) under "
      "stationary, whose drive never ends";
  return info;
}

}  // namespace

const BoundTable<ObservableInfo, Evaluation>& observable_table() {
  static const std::string paper = kPaper;
  static const BoundTable<ObservableInfo, Evaluation> table(
      {{{"loss", "L", "population loss", paper + ", section 3"},
        [](const Evaluation& x) { return x.flow.outputs().loss(x.flow.phi()); }},
       {{"attention_entropy", "-sum_c p_c sum_l b log b",
         "entropy of the attention in nats, mean over classes", paper + ", section 4"},
        [](const Evaluation& x) { return x.entropy; }},
       {{"effective_tokens", "e^entropy", "number of tokens that are attended to",
         paper + ", section 4"},
        [](const Evaluation& x) { return math::exp(x.entropy); }},
       {{"stable_rank", "|V|_F^2/|V|_2^2", "stable rank of the hidden layer's weights",
         paper + ", section 5"},
        [](const Evaluation& x) { return x.stable_rank; }},
       {{"theorem_residual", "max_l |change|",
         "largest change over tokens of the theorem's invariant since the start",
         paper + ", theorem 1", 1e-15},
        [](const Evaluation& x) { return x.theorem.residual(x.at.V, x.at.z); }},
       {{"correlation", "corr(z, theorem)", "correlation over tokens of z with the theorem's z",
         paper + ", theorem 1, figure 2"},
        [](const Evaluation& x) { return x.correlations.prediction; }},
       {{"correlation_weights", "corr(z, sum_k v_k^2)",
         "correlation over tokens of z with the theorem's first term (softmax)",
         paper + ", theorem 1, figure 2"},
        [](const Evaluation& x) { return x.correlations.weights; }},
       {{"correlation_norm", "corr(z, -bbar sum_k |v_k|^2)",
         "correlation over tokens of z with the theorem's second term (softmax)",
         paper + ", theorem 1, figure 2"},
        [](const Evaluation& x) { return x.correlations.norm; }},
       {{"logit_sum", "sum_l z_l", "sum of the attention logits", paper + ", section 3"},
        [](const Evaluation& x) { return x.at.z.sum(); }}});
  return table;
}

const BoundTable<EventInfo, Rates>& event_table() {
  // For the entropy in nats and the rank's logarithm: visible in a figure, and no numerical noise.
  constexpr double kStandsOut = 1e-3;
  static const BoundTable<EventInfo, Rates> table(
      {{{"entropy_falls",
         "the attention entropy begins to fall (at 0: from the start), by 0.001 or more", "",
         kStandsOut},
        [](const Rates& rates) { return -rates.entropy - rates.entropy_rounding; }},
       {{"entropy_minimum",
         "the attention entropy, having fallen, begins to rise, by 0.001 or more", "entropy_falls",
         kStandsOut},
        [](const Rates& rates) { return rates.entropy - rates.entropy_rounding; }},
       {{"rank_falls", "the stable rank begins to fall (at 0: from the start), by 0.1% or more", "",
         kStandsOut},
        [](const Rates& rates) { return -rates.rank - rates.rank_rounding; }},
       {{"rank_minimum", "the stable rank, having fallen, begins to rise, by 0.1% or more",
         "rank_falls", kStandsOut},
        [](const Rates& rates) { return rates.rank - rates.rank_rounding; }}});
  return table;
}

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::joma_joint
