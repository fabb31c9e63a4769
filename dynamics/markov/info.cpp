#include <cmath>

#include "dynamics/markov.hpp"
#include "dynamics/markov/bernoulli.hpp"
#include "dynamics/markov/formulas.hpp"
#include "dynamics/markov/landscape.hpp"
#include "dynamics/markov/observables.hpp"
#include "popflow/math.hpp"

namespace popflow::markov {

namespace {

constexpr const char* kModel = "arXiv 2406.03072, canonical parameterization";
constexpr const char* kDynamics = "arXiv 2406.03072, learning dynamics";

constexpr double kLargestStart = 1000;

constexpr const char* kEquations =
    R"(Data. A stationary chain x_n in {0,1} with Pr(0 -> 1) = p, Pr(1 -> 0) = q, 0 < p,q < 1;
pi_1 = p/(p+q), pi_0 = q/(p+q). The second eigenvalue of the chain, 1 - p - q, is the correlation of
neighbours: positive for p+q < 1 (symbols tend to stay), negative for p+q > 1 (they tend to
alternate).

Model. A one-layer transformer with tied weights, in canonical coordinates: embedding scale e,
feed-forward weight w, bias b. The logit of x_{n+1} = 1 after x_n = x is
  f_x = e^2 (1 + 2 w|w|) x + b - e^2/2,     slope s = f_1 - f_0 = e^2 (1 + 2 w|w|)
so the predicted transitions are Pr(0 -> 1) = sigma(f_0), Pr(1 -> 0) = sigma(-f_1).

Population loss, next-symbol cross-entropy in nats:
  L = -pi_0 [ p log sigma(f_0) + (1-p) log sigma(-f_0) ]
      -pi_1 [ (1-q) log sigma(f_1) + q log sigma(-f_1) ]
The loss is never below the entropy rate H(x_{n+1}|x_n) = pi_0 h(p) + pi_1 h(q).

Flow. With g_0 = pi_0 (sigma(f_0) - p) and g_1 = pi_1 (sigma(f_1) - (1-q)),
  de/dt = e g_0 - e (1 + 4 w|w|) g_1,   dw/dt = -4 |w| e^2 g_1,   db/dt = -(g_0 + g_1)
--bias free integrates all three from (e0, w0, b0). --bias optimal (default) sets b = b*(e,w), the
root of g_0 + g_1 = 0. Apart from the term e^2/2, b* depends on s alone:
  b* = e^2/2 + log[ ( (p-q) + sqrt((p-q)^2 + 4 p q e^s) ) / (2 q e^s) ]
By the envelope theorem the partial derivatives with respect to e and w are then the gradient of the
loss at b*, a function L(s). With x = Pr(x_n = 0, x_{n+1} = 1) under the model,
  (e^s - 1) x^2 + x = pi_0 pi_1,   dL/ds = g_1 = pq/(p+q) - x
  de/dt = -2 e (1 + 2 w|w|) g_1,   dw/dt = -4 |w| e^2 g_1

Exact results with the optimal bias.
  Energy. E = e^2 - w^2 - sign(w) log|w| is conserved, and e and w keep their signs. If w = 0 at the
  start, w stays 0 and the energy is not finite.
  Global minima. They form the curve s = s* = log[(1-p)(1-q)/(pq)]. On this curve the model's
  transitions are those of the chain, and the loss is the entropy rate.
  The line e = 0. All its points are at rest: the model predicts pi, and the loss is the entropy
  H(pi). For p+q < 1 these points are local minima at w < -1/sqrt 2 and maxima at w > -1/sqrt 2; for
  p+q > 1 it is the reverse. (0, -1/sqrt 2) is a saddle; its energy -(1 + log 2)/2 defines the
  separatrix.
  Limit of the flow from a start with e != 0:
                                            p+q < 1     p+q > 1
    w >= 0                                  global      local
    w < 0, above the separatrix             global      global
    w < 0, below it, w > -1/sqrt 2          global      local
    w < 0, below it, w < -1/sqrt 2          local       global
    w < 0, on the separatrix (*)            saddle      saddle
  (*) on the side of w = -1/sqrt 2 on which starts below the separatrix end in a local minimum.
  Rates. The flow approaches a local minimum (0, w) as exp(-|g_1 (2 + 4 w|w|)| t), with
  g_1 = -pi_0 pi_1 (1-p-q). The rate vanishes at the saddle, which is approached like 1/t.
  Independent symbols. For p+q = 1, s* = 0: the line e = 0 and the line w = -1/sqrt 2 are all global
  minima, the entropy rate is H(pi), and every outcome is called global.
With --bias free the energy is not conserved; the outcome is the place where the state ends.

What to expect. From a small e0 the loss stays at H(pi) until e has grown away from the line e = 0
(for p+q < 1 at the rate 2 pi_0 pi_1 (1-p-q) (1 + 2 w|w|)). Then the loss falls to the entropy rate
within a few times 1/(pi_0 pi_1). For p+q > 1 the line attracts standard small starts, and their
loss stays at H(pi). Only starts above the separatrix, or left of the saddle, learn.

Sampled model. Samples are stationary chains of --context-length symbols, with one transition fewer.
The gradient is the mean over transitions and sequences; at any length its expectation is the flow.
--bias optimal uses the b* of the true p and q, which no real training knows, so only e and w are
sampled. --bias free samples all three. --noise batch and diagonal use the exact covariance of a
sequence's gradient. With r_x = Pr(x_{n+1} = 1 | x_n = x), m_x = (r_x - sigma(f_x)) df_x, the second
eigenvalue lambda = 1-p-q, g(k) = (1 - lambda^k)/(1 - lambda) and N transitions, N^2 times the
covariance is
  sum_x pi_x r_x (1-r_x) sum_{k<N} [df_x + (m_1-m_0) g(k)] [..]' + pi_0 pi_1 g(N)^2 (m_1-m_0) (..)'
The terms with g are due to the correlation of successive positions; the sums have closed forms.
--noise-samples has no effect. At w = 0 or e = 0 the gradient of every sample vanishes, so noise
does not move the state across; but a large step can jump across, and then e or w changes its sign.
With noise the energy is not conserved. A sample changes the energy by -2 e^2 times its contribution
to db/dt. The energy therefore fluctuates at order sqrt(eta/B) and drifts at order eta, and a run
can cross the separatrix. The outcome is then the place where the run ends, not the basin of its
start. The outcome is global if less than 10% of H(pi) - H(x_{n+1}|x_n) remains, and local near the
line e = 0 where the line attracts, far below the separatrix. loss_settled still refers to the limit
of the flow from the start.

Text. --text counts the transitions between two classes of a text's characters. The characters in
--text-ones are 1 (by default the vowels of the Latin, Greek and Cyrillic alphabets); those in
--text-zeros are 0 (by default all other letters). Characters are compared after Unicode's full case
folding, in Normalization Form C. A letter with accents that is in neither list has the class of the
letter without them; the Cyrillic short i and short u count as consonants. All other characters
(marks, digits, punctuation, joiners) are left out, as in Markov's own count of 1913. The characters
on both sides of them count as neighbours, across words and sentences: "a b" is a transition from a
to b. p and q are the relative frequencies.)";

ParameterTable parameters() {
  ParameterTable t;
  // The bounds of p and q are checked by transition_fault(), which gives the reason.
  t.push_back({.name = "p",
               .kind = Kind::real,
               .default_text = "0.2",
               .meaning = "Pr(0 -> 1); below 1, at least 1e-50",
               .symbol = "p",
               .range = {0, 1}});
  t.push_back({.name = "q",
               .kind = Kind::real,
               .default_text = "0.3",
               .meaning = "Pr(1 -> 0); below 1, at least 1e-50",
               .symbol = "q",
               .range = {0, 1}});
  t.push_back({.name = "text",
               .kind = Kind::path,
               .default_text = "",
               .meaning = "take p and q from the letters of a text (UTF-8)",
               .makes_problem = true});
  t.push_back({.name = "text-ones",
               .kind = Kind::text,
               .default_text = "",
               .meaning = "characters of the text that count as 1",
               .default_note = "the vowels of Latin, Greek and Cyrillic letters",
               .where = {{.option = "text"}}});
  t.push_back({.name = "text-zeros",
               .kind = Kind::text,
               .default_text = "",
               .meaning = "characters of the text that count as 0",
               .default_note = "the other letters",
               .where = {{.option = "text"}}});
  t.push_back({.name = "e0",
               .kind = Kind::real,
               .default_text = "0.1",
               .meaning = "start of the embedding scale; 0 or at least 1e-100 in size",
               .symbol = "e(0)",
               .range = {-kLargestStart, kLargestStart}});
  t.push_back({.name = "w0",
               .kind = Kind::real,
               .default_text = "0.1",
               .meaning = "start of the feed-forward weight; 0 or at least 1e-100 in size",
               .symbol = "w(0)",
               .range = {-kLargestStart, kLargestStart}});
  t.push_back({.name = "b0",
               .kind = Kind::real,
               .default_text = "0",
               .meaning = "start of the bias, if it is free",
               .symbol = "b(0)",
               .range = {-kLargestStart, kLargestStart},
               .where = {{"bias", {"free"}}}});
  t.push_back({.name = "bias",
               .kind = Kind::word,
               .default_text = "optimal",
               .meaning = "set the bias to its optimum for e and w, or train it",
               .words = {"optimal", "free"}});
  t.push_back({.name = "context-length",
               .kind = Kind::integer,
               .default_text = "1024",
               .meaning = "symbols of a sampled sequence; no effect in a flow",
               .range = {2, largest_whole},
               .modes = {"sde", "sgd"}});
  return t;
}

SystemInfo make_info() {
  SystemInfo info;
  info.name = "markov";
  info.flow_in_lanes = [](const Parameters& /*own*/) { return true; };
  info.title = "Loss landscape of a one-layer transformer on a binary Markov chain";
  info.source =
      "Makkuva, Bondaschi, Ekbote, Girish, Nagle, Kim, Gastpar, Local to Global: Learning Dynamics "
      "and Effect of Initialization for Transformers, NeurIPS 2024, arXiv 2406.03072";
  info.equations = kEquations;
  info.parameters = parameters();
  info.fields = {{"e", {}, "e", "embedding scale", kModel},
                 {"w", {}, "w", "feed-forward weight", kModel},
                 {"b", {}, "b", "bias; the optimal one if it is not trained", kModel}};
  info.observables = observables().infos();
  info.events = events().infos();
  info.invariants = {{"energy", InvariantInfo::Form::constant,
                      "e^2 - w^2 - sign(w) log|w|, with the optimal bias and w not 0"}};
  info.outcomes = {
      {"global", "a global minimum: slope s*, the loss is the entropy rate"},
      {"local", "a local minimum on e = 0: the loss is the entropy of pi"},
      {"saddle", "the saddle (0, -1/sqrt 2), from the attracting side of the separatrix"},
      {"maximum", "a start at rest on e = 0 from which neighbouring starts move away"}};
  info.constants = {{"entropy_rate", "H(x_{n+1}|x_n)", "lowest loss, in nats"},
                    {"stationary_entropy", "H(pi)", "loss on the line e = 0, in nats"}};
  info.problem = {{"p", {}, "Pr(0 -> 1)"}, {"q", {}, "Pr(1 -> 0)"}};
  info.alternatives = {{{{"problem"}, {"text"}, {"p", "q"}}}};
  info.figure = "loss at entropy_rate stationary_entropy; prob_0to1 prob_1to0 at p q; e over w";
  info.figure_of_sweeps = "outcome loss_settled";
  info.end =
      "the time of leaving the start, plus 20 over the final rate; if the approach is slower than "
      "exponential, plus 100/(pi_0 pi_1)^2";
  return info;
}

}  // namespace

const BoundTable<ObservableInfo, Evaluation>& observables() {
  static const BoundTable<ObservableInfo, Evaluation> table =
      std::vector<Bound<ObservableInfo, Evaluation>>{
          {{"loss", "L", "population loss, in nats", kModel, 1e-16},
           [](const Evaluation& x) { return x.chain.entropy_rate + x.excess; }},
          // Errors of the logits enter in second order.
          {{"excess_loss", "L - H(x_{n+1}|x_n)", "population loss above the entropy rate", kModel,
            1e-30},
           [](const Evaluation& x) { return x.excess; }},
          {{"energy", "E", "e^2 - w^2 - sign(w) log|w|; undefined at w = 0", kDynamics},
           [](const Evaluation& x) { return energy(x.e, x.w); }},
          {{"slope", "s", "e^2 (1 + 2w|w|) = f_1 - f_0", kModel},
           [](const Evaluation& x) { return x.by.slope; }},
          {{"prob_0to1", "sigma(f_0)", "the model's Pr(0 -> 1)", kModel},
           [](const Evaluation& x) { return sigmoid(x.by.logits.f0); }},
          {{"prob_1to0", "sigma(-f_1)", "the model's Pr(1 -> 0)", kModel},
           [](const Evaluation& x) { return sigmoid(-x.by.logits.f1); }},
          {{"gradient_norm", "|grad L|",
            "norm of the gradient with respect to the trained parameters", kDynamics, 1e-16},
           [](const Evaluation& x) {
             return math::hypot(math::hypot(x.by.by_e, x.by.by_w), x.by.by_b);
           }}};
  return table;
}

const BoundTable<EventInfo, EventEvaluation>& events() {
  static const BoundTable<EventInfo, EventEvaluation> table =
      std::vector<Bound<EventInfo, EventEvaluation>>{
          {{"loss_settled",
            "the loss has covered 99% of the way from its start to the limit of the flow "
            "(optimal bias; not for starts at rest)"},
           [](const EventEvaluation& x) { return depth(x.slope, x.settled.low, x.settled.high); }}};
  return table;
}

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::markov
