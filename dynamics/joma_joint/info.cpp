#include <cmath>

#include "dynamics/joma_joint.hpp"
#include "dynamics/joma_joint/observables.hpp"
#include "popflow/math.hpp"

namespace popflow::joma_joint {

namespace {

constexpr const char* kPaper = "arXiv 2310.00535";

constexpr const char* kEquations =
    R"(Data. M contextual tokens l, C classes c with weights p_c. A sample is a class c ~ p, which
stands for the query token and for the token to be predicted, and a context of tokens drawn i.i.d.
from x_c, which sums to 1. The flow is the limit of long contexts, in which the shares of tokens are
x_c.

Model. K hidden nodes with weights v_k (M) on the attended context and r_k on the query; attention
logits z (M); temperature tau; * multiplies entry by entry:
  linear   b_c = x_c * z
  exp      b_c = x_c * e^(z/tau)
  softmax  b_c = x_c * e^(z/tau) / (x_c' e^(z/tau))
  h_kc = v_k' b_c + r_k ;  output phi(h), phi the identity, relu, h^2,
           gelu h Phi(h) with the normal distribution's Phi, silu h/(1 + e^-h), or tanh h

Loss. cross-entropy (K = C): L = sum_c p_c (log sum_k e^phi(h_kc) - phi(h_cc)).
stationary: L = -sum_c p_c sum_k g_kc phi(h_kc) with g constant.

Flow, minus the gradient of the loss:
  dv_k/dt = sum_c p_c g_kc phi'(h_kc) b_c
  dr_k/dt = sum_c p_c g_kc phi'(h_kc)
  dz/dt   = sum_c p_c (db_c/dz)' sum_k g_kc phi'(h_kc) v_k
  cross-entropy: g_kc = 1{k=c} - softmax(phi(h_:c))_k ;  stationary: g_kc = 1{k=c} - 1/K
dz/dt needs no product of its own: sum_c p_c b_c * sum_k g_kc phi'(h_kc) v_k = sum_k v_k * dv_k/dt.

Relu. phi' jumps at h = 0 (and is 0 there). If g > 0 (k = c), the flow crosses the surface h = 0. If
g < 0, both sides push towards h = 0, and the flow soon slides along this surface. With
relu-smoothing 0 the flow is Filippov's: phi' on a surface is the number in [0,1] for which
dh/dt = 0. These numbers are found for all surfaces at once, from the Gram matrix of the gradients
of h and a box-constrained least-squares problem, which also decides along which surfaces the flow
slides. A slide ends when phi' reaches 0 or 1, and no step crosses a surface in the wrong regime.
With n sliding surfaces a right-hand side costs n^3 + n^2 M + C^2 M more.
relu-smoothing eps integrates eps log(1 + e^(h/eps)) instead. Its trajectory differs by O(eps) (by
0.7 to 7 eps in the tests), unless some h_kk comes within eps of 0. Both sides push away there, and
the smooth relu may go to the other side. V = r = 0 is at rest, because phi' is 0 there.

Exact results (JoMA, theorem 1), conserved for every activation and back-propagation:
  linear   z^2 - sum_k v_k^2                       constant for each token
  exp      z - sum_k v_k^2 / (2 tau)               constant for each token
  softmax  sum_l z_l, and sum_l v_kl - r_k         constant, the second for each node
  softmax  z - (sum_k v_k^2 - bbar sum_k |v_k|^2) / (2 tau) with bbar = sum_c p_c b_c constant:
           approximate. bbar is taken at the start; the relation fails with the current bbar(t).
theorem_residual is the largest change of this quantity over tokens since the start. correlation is
that of z with the theorem's z from the same start; correlation_weights and correlation_norm use one
term of the theorem each.

Coordinates. With --coordinates integrated z is not in the state but follows from V by the theorem.
The elimination is exact for exp, and for linear attention from starts with z^2 > sum_k v_k^2, where
z keeps its sign (other starts are refused). For softmax it is an approximation. z is recorded
nevertheless, and theorem_residual is then 0.

Sampled model. Each sample is a class c ~ p with --context-length tokens i.i.d. from x_c. Its
gradient is that of its class, at the context's empirical shares in place of x_c, averaged over the
batch. Finite contexts cause a bias that does not depend on the batch size:
- no bias for linear or exp attention with the identity and stationary back-propagation;
- a bias of order 1/length if the gradient is smooth in the shares;
- a bias without such a rate near a relu's kink.
So compare several lengths. With noise only full coordinates are exact, and a sharp relu does not
slide: phi' is 1{h > 0}, 0 at the kink, also in sde's drift.
Every single sample, and so SGD up to rounding, conserves
- with softmax: sum_l z_l and, for every node, sum_l v_kl - r_k;
- with the identity, if sum_k g_kc = 0 (cross-entropy, or K >= C): sum_k v_kl for every token, and
  sum_k r_k; with stationary back-propagation also the differences of the nodes beyond the classes;
- the weights and logits of tokens that occur in no class.
Isotropic noise is projected to conserve the same quantities. No discrete step conserves the
quadratic invariants. A step of size eta changes z - sum_k v_k^2/(2 tau) (exp) by -eta^2 sum_k
(dv_k)^2/(2 tau), and z^2 - sum_k v_k^2 (linear) by eta^2 [(dz)^2 - sum_k (dv_k)^2], which is not
positive if z^2 >= sum_k v_k^2. So the invariants drift in one direction, at order eta.

Start. v, r and z are init-scale times standard normals; init-logit is added to z. Adding a constant
to all logits has no effect with softmax and multiplies the attention by a factor with exp. Linear
attention vanishes at z = 0, so its default for init-logit is 1. Data gaussian: with H = floor(M/2),
tokens l < H of class c are proportional to exp(-(l - cH/C)^2 / (0.3 H^2)), the others are uniform
on (0,1/2), and the sum is then normalised. For M = C = 20 these are the data of the paper's figures
2 and 3.

What to expect. Under cross-entropy attention moves to the tokens that distinguish the classes. z
grows where sum_k v_k^2 grows, and the entropy falls. Once the classes are distinguished, the
weights grow ever more slowly. Under stationary back-propagation the drive never ends: softmax
attention collapses on few tokens. With exp attention, or phi = h^2, weights can blow up in finite
time, which the run reports. Exp attention makes a flow stiff as its logits grow; the fastest rate
then limits the steps.

Observables. attention_entropy is the mean over classes (with weights p_c) of the entropy of |b_c|
divided by its sum; effective_tokens is its exponential.)";

ParameterTable parameters() {
  ParameterTable t;
  t.push_back({.name = "tokens",
               .kind = Kind::integer,
               .default_text = "20",
               .meaning = "number of contextual tokens",
               .symbol = "M",
               .range = {1, largest_whole},
               .default_note = "4"});
  t.push_back({.name = "classes",
               .kind = Kind::integer,
               .default_text = "20",
               .meaning = "number of classes",
               .symbol = "C",
               .range = {1, largest_whole},
               .default_note = "4"});
  t.push_back({.name = "nodes",
               .kind = Kind::integer,
               .default_text = "",
               .meaning = "number of hidden nodes; cross-entropy needs one per class",
               .symbol = "K",
               .range = {1, largest_whole},
               .default_note = "the number of classes"});
  t.push_back({.name = "attention",
               .kind = Kind::word,
               .default_text = "softmax",
               .meaning = "how the logits weight the tokens of a context",
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
               .meaning = "smooth relu eps log(1 + e^(h/eps)); 0: the relu itself, along whose "
                          "kinks the flow slides",
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
               .meaning = "gradient that is propagated back to the nodes",
               .symbol = "g",
               .words = {"cross-entropy", "stationary"}});
  t.push_back({.name = "coordinates",
               .kind = Kind::word,
               .default_text = "full",
               .meaning =
                   "state of the flow; integrated: z follows from V by the theorem, exact for "
                   "exp and linear",
               .words = {"full", "integrated"}});
  t.push_back({.name = "data",
               .kind = Kind::word,
               .default_text = "gaussian",
               .meaning =
                   "drawn context distributions: a profile whose centre moves with the class, "
                   "or uniform on the simplex",
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
               .meaning = "number added to the start of every logit z",
               .default_note = "0; with linear attention 1"});
  t.push_back({.name = "context-length",
               .kind = Kind::integer,
               .default_text = "100",
               .meaning =
                   "tokens of a sampled context; short contexts cause a bias. No effect in a "
                   "flow, which is the limit of long contexts",
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
                  {"V0", {"token", "node"}, "start of v (optional, like r0 and z0)"},
                  {"r0", {"node"}, "start of r"},
                  {"z0", {"token"}, "start of z"}};
  info.unreduced = {{"coordinates", "full"}};
  info.figure =
      "correlation correlation_weights correlation_norm; attention_entropy; loss; z; stable_rank; "
      "theorem_residual";
  info.figure_of_sweeps = "correlation attention_entropy loss";
  info.rungs = {
      {"integrated", "the flow in integrated coordinates", {{"coordinates", "integrated"}}}};
  info.end =
      "10 times the number of classes with cross-entropy, 5 times with stationary, whose drive "
      "never ends; with activation square 50 and 10 times";
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
       {{"effective_tokens", "e^entropy", "effective number of attended tokens",
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
  // Threshold for the entropy in nats and the rank's logarithm: visible in a figure, and above
  // numerical noise.
  constexpr double kStandsOut = 1e-3;
  static const BoundTable<EventInfo, Rates> table(
      {{{"entropy_falls",
         "the attention entropy begins to fall (at t = 0: from the start), by 0.001 or more", "",
         kStandsOut},
        [](const Rates& rates) { return -rates.entropy - rates.entropy_rounding; }},
       {{"entropy_minimum", "after its fall the attention entropy begins to rise, by 0.001 or more",
         "entropy_falls", kStandsOut},
        [](const Rates& rates) { return rates.entropy - rates.entropy_rounding; }},
       {{"rank_falls", "the stable rank begins to fall (at t = 0: from the start), by 0.1% or more",
         "", kStandsOut},
        [](const Rates& rates) { return -rates.rank - rates.rank_rounding; }},
       {{"rank_minimum", "after its fall the stable rank begins to rise, by 0.1% or more",
         "rank_falls", kStandsOut},
        [](const Rates& rates) { return rates.rank - rates.rank_rounding; }}});
  return table;
}

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::joma_joint
