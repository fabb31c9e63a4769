#include <cmath>

#include "dynamics/joma.hpp"
#include "dynamics/joma/lanes.hpp"
#include "dynamics/joma/observables.hpp"
#include "dynamics/joma/problem.hpp"
#include "popflow/math.hpp"

namespace popflow::joma {

namespace {

constexpr double kMostTokens = 8589934592.0;  // 2^33, the length of a random stream

constexpr const char* kPaper = "arXiv 2310.00535";

constexpr const char* kEquations =
    R"(Model. K hidden nodes with token-space weights v_k over M contextual tokens, above an
attention layer. JoMA's theorem 1 makes the attention logits a function of the weights. The
attention then drops out of the joint flow and leaves a flow of v alone. The data enter as a given
drive Delta or a given target mu for every node and token.

Flow, with b_l the attention to token l, tau the temperature and c the offset:
  dv_kl/dt = F_kl b_l
  F_kl = Delta_kl          --activation linear: a constant drive
  F_kl = mu_kl - v_kl      --activation nonlinear: attraction to a target
  S_l  = sum_k v_kl^2
  b_l  = exp(S_l/(2 tau^2) + c)   --attention exp
  b_l  = the softmax of S_l/(2 tau^2) over l        --attention softmax
  b_l  = sqrt(S_l + c), c >= 0    --attention linear
tau has the meaning that it has in joma-joint, e^{z/tau} with z = S/(2 tau). There is no loss,
because it was eliminated with the attention.

Coordinates, both exact:
  reduced   All nodes share a token's attention, so with s_l = integral of b_l over time
              v_kl = v0_kl + s_l Delta_kl                      (drive)
              v_kl = mu_kl - (mu_kl - v0_kl) e^{-s_l}          (target)
            The state has one number per token, for any number of nodes. Near a target s_l grows
            evenly, while mu - v falls below any rounding error: the flow is not stiff, and no
            digits are lost.
  full      v itself, or v - mu with targets. A step of --method euler is then a gradient step.
            --mode sde needs these coordinates, because noise leaves the lines of the reduced ones.

Sampled model. There is none: drives and targets stand for the data, and no sample has a gradient.
So --mode sgd and, in --mode sde, --noise batch and diagonal are refused. --noise isotropic adds
noise-scale sqrt(eta/B) dW to every v_kl. With noise the exact results below do not hold, and
clock_spread measures how far noise has moved the clocks apart. To compare SGD with the integrated
flow, use joma-joint: popflow compare joma-joint --rungs flow,integrated,sgd.

Data.
  uniform   drives or targets independent and uniform on [target-min, target-max]
  tree      tokens are the 2^depth leaves of a binary latent tree with edge correlation rho and
            marginals 1/2; the query m of node k is leaf k. The drive or target is
            Pr(l=1 | m=1) = (1 + rho^(2H))/2, with H the height of the lowest common ancestor of l
            and m, and 1 for l = m. Tokens that share a near ancestor with the query are learned
            first.
A problem file holds drive (activation linear) or target (nonlinear), of shape (token) or
(node, token), and optionally v0(node, token).

Exact results, for one node (for several nodes, along the line on which v_l moves).
  drive, exp: erf(v/(sqrt 2 tau)) = erf(v0/(sqrt 2 tau)) + sqrt(2/pi) e^c Delta t/tau, so v_l blows
    up at t* = e^-c tau sqrt(pi/2) (1 - sign(Delta) erf(v0/(sqrt 2 tau)))/|Delta|. Such a run ends as
    diverged. blow_up_time is the first of these times, and the default end is 95% of it.
  drive, linear: v = sqrt(c) sinh(Delta t + arsinh(v0/sqrt c)). With linear or softmax
    attention v does not blow up.
  target: the clock, integral over u from v0 to v of du/((mu - u) exp(u^2/(2 tau^2))), is the same
    for all tokens at all times. The clock is e^c t for exp attention, and the integral of dt over
    the sum of exponentials for softmax. For linear attention sqrt(u^2 + c) replaces the
    exponential, and the clock is t. A token that starts at its target stays there and has no clock.
  target, exp: near its target token l relaxes at the rate exp(mu_l^2/(2 tau^2) + c), so the rates
    of two tokens have the ratio exp((mu_1^2 - mu_2^2)/(2 tau^2)): salient tokens come first.

What to expect. With targets and small starts attention first gathers on the salient tokens, which
grow fastest, and spreads again when the other tokens follow: the entropy falls and rises. With
softmax the others follow at a rate of about exp(-S/(2 tau^2)) with the first token's S. S is a sum
over nodes: with the default targets and five nodes or more the entropy falls below 1e-5 and is
still there at t = 1e6. With drives of one sign and equal small starts the entropy only falls.

Targets with S/(2 tau^2) above 33 (exp attention). From a small start such a token moves from 8 tau
to its target in less time than the rounding of t. Its rate is then held at e^27 or, if tokens start
with an S0 of this size, at e^(27 + S0/(2 tau^2)) for the largest of these, but at most at e^130
(from 14 tau on). This changes time_to_90 by a relative amount below 4e-12 mu/tau: 2e-8 for a target
of 5000 tau. clock_spread leaves out such tokens. In full coordinates it also leaves out tokens
within 1e-6 of the way of their target, because v does not determine their clock there. Late in a
run clock_spread then covers only the slowest tokens. Reduced coordinates have no such limit.)";

ParameterTable parameters() {
  const Condition drawn{.option = "problem", .absent = true};
  ParameterTable t;
  const Range number{-kLargestNumber, kLargestNumber};
  t.push_back({.name = "tokens",
               .kind = Kind::integer,
               .default_text = "10",
               .meaning = "number of contextual tokens; a tree has 2^depth",
               .symbol = "M",
               .range = {1, kMostTokens}});
  t.push_back({.name = "nodes",
               .kind = Kind::integer,
               .default_text = "1",
               .meaning = "number of hidden nodes",
               .symbol = "K",
               .range = {1, kMostTokens}});
  t.push_back({.name = "activation",
               .kind = Kind::word,
               .default_text = "linear",
               .meaning = "linear: constant drives; nonlinear: targets (F = mu - v)",
               .words = {"linear", "nonlinear"}});
  t.push_back({.name = "attention",
               .kind = Kind::word,
               .default_text = "exp",
               .meaning = "attention as a function of sum_k v_kl^2",
               .symbol = "b",
               .words = {"exp", "softmax", "linear"}});
  t.push_back({.name = "temperature",
               .kind = Kind::real,
               .default_text = "1",
               .meaning = "temperature of the attention; no effect on linear attention",
               .symbol = "tau",
               .range = {1e-50, kLargestNumber},
               .where = {{"attention", {"exp", "softmax"}}}});
  t.push_back({.name = "offset",
               .kind = Kind::real,
               .default_text = "0",
               .meaning = "constant in the attention; linear: at least 0; softmax: no effect",
               .symbol = "c",
               .range = number,
               .where = {{"attention", {"exp", "linear"}}}});
  t.push_back({.name = "data",
               .kind = Kind::word,
               .default_text = "uniform",
               .meaning = "source of the drives or targets",
               .words = {"uniform", "tree"},
               .where = {drawn}});
  t.push_back({.name = "target-min",
               .kind = Kind::real,
               .default_text = "1",
               .meaning = "smallest drive or target (data uniform)",
               .range = number,
               .where = {drawn, {"data", {"uniform"}}}});
  t.push_back({.name = "target-max",
               .kind = Kind::real,
               .default_text = "4",
               .meaning = "largest drive or target (data uniform)",
               .range = number,
               .where = {drawn, {"data", {"uniform"}}}});
  t.push_back({.name = "tree-depth",
               .kind = Kind::integer,
               .default_text = "4",
               .meaning = "levels of the latent tree (data tree)",
               .range = {0, 33},
               .where = {drawn, {"data", {"tree"}}}});
  t.push_back({.name = "tree-correlation",
               .kind = Kind::real,
               .default_text = "0.7",
               .meaning = "correlation of the two ends of an edge (data tree)",
               .symbol = "rho",
               .range = {-1, 1},
               .where = {drawn, {"data", {"tree"}}}});
  t.push_back({.name = "init",
               .kind = Kind::real,
               .default_text = "0.05",
               .meaning = "start of every v_kl",
               .symbol = "v0",
               .range = number});
  t.push_back(
      {.name = "coordinates",
       .kind = Kind::word,
       .default_text = "",
       .meaning =
           "state of the flow, both exact. In full, steps of euler are the paper's, and noise is "
           "possible",
       .words = {"reduced", "full"},
       .default_note = "reduced; with noise full"});
  return t;
}

/// Whether Joma::capabilities() has lanes, for a problem that is not in a file.
bool has_lanes(const Parameters& own) {
  if (own.has("coordinates") && own.word("coordinates") != "reduced") return false;
  const bool tree = own.word("data") == "tree";
  const std::int64_t tokens =
      tree ? std::int64_t{1} << own.integer("tree-depth") : own.integer("tokens");
  const std::int64_t targets_each =
      own.word("activation") == "nonlinear" ? own.integer("nodes") : 0;
  return fit_lanes(static_cast<std::size_t>(tokens), static_cast<std::size_t>(targets_each));
}

SystemInfo make_info() {
  SystemInfo info;
  info.name = "joma";
  info.title = "JoMA: an MLP layer above attention, attention integrated out";
  info.source =
      "Tian, Wang, Zhang, Chen, Du, JoMA: Demystifying Multilayer Transformers via JOint Dynamics "
      "of MLP and Attention, ICLR 2024, arXiv 2310.00535";
  info.equations = kEquations;
  info.parameters = parameters();
  info.dimensions = {{"node", "hidden node"}, {"token", "contextual token"}};
  const std::string paper = kPaper;
  info.fields = {{"v",
                  {"node", "token"},
                  "v",
                  "weights of the hidden nodes in token space",
                  paper + ", section 4"}};
  info.observables = observable_table().infos();
  info.events = event_table().infos();
  info.constants = {{"blow_up_time", "t*", "first blow-up of a token (drives, exp attention)"}};
  info.passages = {{"time_to_90",
                    {"node", "token"},
                    "t_90",
                    "time at which v first reaches 90% of its target",
                    paper + ", section 4"}};
  info.problem = {{"drive",
                   {"node", "token"},
                   "constant drives; implies activation linear. A vector (token) is for one node"},
                  {"target",
                   {"node", "token"},
                   "targets; implies activation nonlinear. A vector (token) is for one node"},
                  {"v0", {"node", "token"}, "start of v (optional)"}};
  info.unreduced = {{"coordinates", "full"}};
  info.flow_in_lanes = has_lanes;
  info.figure =
      "attention_entropy; v by target when blow_up_time; learned_min learned_max; time_to_90 over "
      "target; clock_spread";
  info.figure_of_sweeps = "time_to_90 entropy_minimum attention_entropy";
  info.end =
      "targets: when e^-5 of each distance remains, with softmax at most 1e6; drives: 95% of the "
      "first blow-up time with exp attention, 5 over the largest drive (norm over nodes) with "
      "linear; with softmax 5 tau over it, plus the blow-up time of exp attention times the final "
      "sum of exponentials";
  return info;
}

}  // namespace

const BoundTable<ObservableInfo, Evaluation>& observable_table() {
  static const std::string source = std::string(kPaper) + ", section 4";
  static const BoundTable<ObservableInfo, Evaluation> table(
      {{{"attention_entropy", "H", "entropy in nats of b normalised to sum 1", source},
        [](const Evaluation& x) { return x.entropy; }},
       {{"effective_tokens", "exp(H)", "effective number of tokens that share the attention",
         source},
        [](const Evaluation& x) { return math::exp(x.entropy); }},
       {{"learned_min", "min v/mu", "smallest learned part of a target (NaN without targets)",
         source},
        [](const Evaluation& x) { return x.learned_min; }},
       {{"learned_max", "max v/mu", "largest learned part of a target (NaN without targets)",
         source},
        [](const Evaluation& x) { return x.learned_max; }},
       {{"clock_spread", "(max T - min T)/mean T",
         "spread of the clocks T_l over tokens, relative to their mean: 0 up to the integrator's "
         "error (NaN without targets)",
         source},
        [](const Evaluation& x) { return x.clock_spread; }}});
  return table;
}

const BoundTable<EventInfo, EntropyRate<double>>& event_table() {
  constexpr double kStandsOut = 1e-3;  // in nats: visible in a figure
  static const BoundTable<EventInfo, EntropyRate<double>> table(
      {{{"entropy_falls", "the attention's entropy begins to fall, by 0.001 or more", "",
         kStandsOut},
        falling},
       {{"entropy_minimum",
         "the attention's entropy begins to rise again, by 0.001 or more: its minimum",
         "entropy_falls", kStandsOut},
        rising}});
  return table;
}

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::joma
