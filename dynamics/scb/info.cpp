#include "dynamics/scb.hpp"
#include "dynamics/scb/observables.hpp"

namespace popflow::scb {

namespace {

constexpr const char* kEquations =
    R"(Data. Vocabulary N, context length T. P is column-stochastic, P[n,m] = Pr(next = n | m), with
stationary distribution mu > 0. Column q_k of Q is a probability vector over the T positions with
few non-zeros. A sample: x_1..x_T, x_{T+1} i.i.d. from mu; with k = x_{T+1}, a position s ~ q_k;
the target y ~ P[:, x_s].

--text and --counts take P from bigrams: P[n,m] is the count of n after m plus 1, divided by the sum
of these numbers over n. Bigrams that never occur then have a small probability, and mu is positive.
For a short text, or one with many words, the added ones are a large part, and P is closer to
uniform. A text is first converted to Unicode's Normalization Form C, then to its full case folding,
in every alphabet: a German sharp s becomes ss, a Turkish dotted capital I becomes i and a dot
above. Soft hyphens are dropped. With --text-unit char a token is a code point, and a run of white
space is one space. With --text-unit word a token is a run of letters, numbers and apostrophes,
including marks and zero-width joiners inside the run.

Model. f(X,k) = V X a_k with V (N x N) and A = [a_1 .. a_N] (T x N); loss 1/2 |e_y - V X a_k|^2.
With softmax attention a_k = softmax(w_k), and w_k is trained.

Population loss, with Sigma = diag(mu) - mu mu', s_k = 1'a_k:
  L = 1/2 sum_k mu_k [ 1 - 2( <q_k,a_k> tr(V'P Sigma) + s_k mu'V'P mu )
                       + |a_k|^2 tr(V'V Sigma) + s_k^2 |V mu|^2 ]

Flow.
  dV/dt   = -grad_V L diag(1/mu)
          = c_q (P - mu 1') + c_s mu 1' - c_2 (V - V mu 1') - c_ss V mu 1'
            c_q = sum_k mu_k <q_k,a_k>,  c_2 = sum_k mu_k |a_k|^2,
            c_s = sum_k mu_k s_k,        c_ss = sum_k mu_k s_k^2
  da_k/dt = -(I - 11'/T) grad_{a_k} L / mu_k
          = (I - 11'/T) [ tr(V'P Sigma) q_k - tr(V'V Sigma) a_k ]
  softmax:  dw_k/dt = -(diag(a_k) - a_k a_k') grad_{a_k} L / mu_k
--preconditioner none omits the factors 1/mu. --project none omits (I - 11'/T); the derivative of
the attention then also contains mu'V'P mu - s_k |V mu|^2. Start: V = mu 1' (or 11'/N), a_k = 1/T,
w_k = 0.

Minimum. L* = 1/2 (1 - |mu|^2 - kappa_0 K_P) at V = P, A = Q, with K_P = tr(P'P Sigma) and
kappa_0 = sum_k mu_k |q_k|^2. Without the projection the minima form a valley, (cP, Q/c) for any c.

Coordinates. All are exact, none is an approximation:
  full      V and A, entry by entry; any variant
  support   for each query one number per support position and one for all other positions, at any
            T. With the inverse-frequency preconditioner V has four scalars,
            V = (beta_mu mu + beta_0 m0) 1' + rho_V R0 + alpha_V (P - mu 1')
            with m0 = V0 mu and R0 = V0 - m0 1'
  signal    a_k = 1/T + alpha_A (q_k - 1/T), V from alpha_V and rho_V: three scalars
            (inverse-frequency, linear, projected), with kappa = kappa_0 - 1/T:
              d alpha_V/dt = (1 - alpha_V)/T + kappa alpha_A (1 - alpha_V alpha_A)
              d rho_V/dt   = -(1/T + kappa alpha_A^2) rho_V
              d alpha_A/dt = (rho_V x + alpha_V K_P)
                             - (rho_V^2 y + 2 rho_V alpha_V x + alpha_V^2 K_P) alpha_A
              x = tr(R0'P Sigma), y = tr(R0'R0 Sigma)

What to expect. A drift of order 1/T starts the signals, and the linear term amplifies them at the
rate sqrt(kappa K_P). The fast phase ends near the hyperbola alpha_V alpha_A = 1. Then the state
moves slowly along the hyperbola to (1,1), at a rate of order 1/T.

l1. --l1 lambda adds the penalty lambda sum_k mu_k |a_k|_1 (without the preconditioner
lambda sum_k |a_k|_1). If g_i is the drift of a weight without the penalty,
  a_i not 0   da_i/dt = g_i + nu_k - lambda sign(a_i)
  a_i = 0     the weight rests while |g_i + nu_k| <= lambda
Without the projection nu_k = 0; with it, nu_k conserves 1'a_k. There are three methods:
- --l1-solver active-set is exact: the flow is smooth except where a weight comes to rest or starts
  to move, and these times are located. Weights at rest are exactly 0.
- --l1-solver splitting takes a smooth step of --dt, then a <- soft(a, lambda dt), or
  soft(a + nu_k, lambda dt) with the projection. Its error is of order 1 in dt. Modes sde and sgd
  split in the same way.
- --l1-solver adaptive-splitting chooses the lengths of such steps by an error estimate. This solver
  is the default if more than 100 000 weights differ at the start (full coordinates, --init-from),
  because they could come to rest one by one.
With the projection the penalty has no effect while a_k >= 0, so l1 needs --project none.

Two stages (--schedule two-stage; linear attention, full or support coordinates).
- Stage 1 is the projected flow without l1. Stage 1 lasts until --stage1-time or until signal_V
  signal_A reaches --stage1-signal with a positive signal_V. (If both signals are negative, V
  converges to -P and A to -Q.)
- Then, at once, each attention weight below the share --threshold of its column's sum becomes zero.
  Each column is divided by the sum of its remaining weights, so that 1'a_k = 1. A column whose
  weights are all below the threshold keeps its largest weights; columns_below_threshold counts such
  columns.
- Stage 2 is the flow without the projection and with l1. This flow has no minimiser: when the loss
  has converged, (V, A) moves along the valley (cP, Q/c) with c^3 ~ 3 lambda t / tr(P diag(mu) P').
  Stage 2 therefore ends on a plateau, after which the state rests: when the loss has fallen by at
  most eps^2 kappa_0 K_P / 2 within a time span of --plateau-time. The spans follow one another from
  the beginning of stage 2. Noise that hides the rest of the fall also ends the stage.
- Rounding affects the final values alone, not the state. At the end of a run each weight below the
  share --rounding of its column's sum becomes zero. Then each column of A and of V is divided by
  its sum.
With --init-from a run in two stages continues in the stage in which the other run ended. With S the
largest number of positions of a query, q the smallest weight in Q (1/S if all are equal) and
eps = --accuracy, the defaults are
  l1           eps K_P / (S^2 N^3), the paper's scale
  threshold    alpha q / 2, half of the smallest weight of Q's positions when stage 1 ends, where
               alpha = s / alpha_V, alpha_V^2 = (v^2 + sqrt(v^4 + 4 kappa s^2 / K_P)) / 2,
               s = --stage1-signal (1/2 if a time is given), v = signal_V at the start
  rounding     q / 4: shares do not change along the valley
  plateau-time 5 / (growth rate of the signals)

Transfer. --init-from RUN --init-mix theta starts from V = theta V_pre + (1 - theta) mu 1' and
uniform attention. V_pre is the last V of another run (of the first run of an ensemble); its columns
are divided by their sums if that run rounds its end. P, mu, Q and T of that run may differ. mu 1'
does not contribute to signal_V, which starts at theta tr(V_pre'P Sigma)/K_P. The constant
transfer_correlation is tr(V_pre'P Sigma)/K_P.)";

ParameterTable parameters() {
  const Condition no_file{.option = "problem", .absent = true};
  const Condition no_text{.option = "text", .absent = true};
  const Condition no_counts{.option = "counts", .absent = true};
  ParameterTable t;
  t.push_back({.name = "vocab-size",
               .kind = Kind::integer,
               .default_text = "10",
               .meaning = "number of tokens",
               .symbol = "N",
               .range = {2, largest_whole}});
  t.push_back({.name = "context-length",
               .kind = Kind::integer,
               .default_text = "1000",
               .meaning = "number of positions",
               .symbol = "T",
               .range = {1, largest_whole},
               .default_note = "100"});
  t.push_back({.name = "sparsity",
               .kind = Kind::integer,
               .default_text = "2",
               .meaning = "number of relevant positions of a query, drawn at random",
               .symbol = "S",
               .range = {1, largest_whole}});
  t.push_back({.name = "transition-concentration",
               .kind = Kind::real,
               .default_text = "0.3",
               .meaning = "Dirichlet concentration of the drawn columns of P",
               .range = {.low = 0, .low_open = true},
               .where = {no_file, no_text, no_counts}});
  t.push_back({.name = "position-concentration",
               .kind = Kind::real,
               .default_text = "0",
               .meaning = "Dirichlet concentration of the drawn weights of q_k; 0: equal weights",
               .range = {.low = 0},
               .where = {no_file}});
  t.push_back({.name = "attention",
               .kind = Kind::word,
               .default_text = "linear",
               .meaning = "train A itself, or logits under a softmax",
               .words = {"linear", "softmax"}});
  t.push_back({.name = "preconditioner",
               .kind = Kind::word,
               .default_text = "inverse-frequency",
               .meaning = "divide gradients by mu (the paper's flow), or not",
               .words = {"inverse-frequency", "none"}});
  t.push_back({.name = "project",
               .kind = Kind::word,
               .default_text = "attention",
               .meaning = "conserve 1'a_k = 1 by (I - 11'/T); no effect with softmax",
               .words = {"attention", "none"},
               .where = {{"attention", {"linear"}}}});
  t.push_back({.name = "coordinates",
               .kind = Kind::word,
               .default_text = "full",
               .meaning = "state of the flow; support and signal are exact reductions",
               .words = {"full", "support", "signal"}});
  t.push_back({.name = "init-value",
               .kind = Kind::word,
               .default_text = "",
               .meaning = "start of V: mu 1', 11'/N, or the V0 of the problem file",
               .words = {"stationary", "uniform", "problem"},
               .default_note = "stationary, or problem if the file has V0"});
  t.push_back({.name = "init-mix",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "transfer: start from theta V + (1 - theta) mu 1' with the V of "
                          "--init-from, and from uniform attention",
               .symbol = "theta",
               .range = {0, 1},
               .makes_problem = true});
  t.push_back({.name = "l1",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "l1 penalty on the attention",
               .symbol = "lambda",
               .range = {.low = 0},
               .default_note = "0; with two stages eps K_P / (S^2 N^3)"});
  t.push_back({.name = "l1-solver",
               .kind = Kind::word,
               .default_text = "",
               .meaning =
                   "method for the l1 term of a flow: exact, proximal steps of --dt, or proximal "
                   "steps chosen by an error estimate",
               .words = {"active-set", "splitting", "adaptive-splitting"},
               .default_note = "active-set if few weights differ, else adaptive-splitting; "
                               "rk4, euler: splitting"});
  t.push_back({.name = "schedule",
               .kind = Kind::word,
               .default_text = "plain",
               .meaning = "one flow throughout, or the paper's algorithm in two stages",
               .words = {"plain", "two-stage"}});
  t.push_back({.name = "stage1-signal",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "two-stage: stage 1 ends when signal_V signal_A reaches this value",
               .range = {0, 1, true, true},
               .default_note = "0.5",
               .where = {{"schedule", {"two-stage"}}}});
  t.push_back({.name = "stage1-time",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "two-stage: stage 1 ends at this time instead",
               .range = {.low = 0},
               .where = {{"schedule", {"two-stage"}}}});
  t.push_back({.name = "threshold",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "two-stage: after stage 1 weights below this share of their column's sum "
                          "become zero",
               .range = {0, 1},
               .default_note = "half of the smallest weight predicted for Q's positions",
               .where = {{"schedule", {"two-stage"}}}});
  t.push_back({.name = "rounding",
               .kind = Kind::real,
               .default_text = "",
               .meaning = "in the final values, weights below this share of their column's sum are "
                          "zero, and columns are divided by their sums",
               .range = {0, 1},
               .default_note = "with two stages a quarter of Q's smallest weight, else none"});
  t.push_back({.name = "accuracy",
               .kind = Kind::real,
               .default_text = "0.01",
               .meaning = "two-stage: relative accuracy, which sets the defaults and the plateau",
               .symbol = "eps",
               .range = {0, 1, true, true}});
  t.push_back(
      {.name = "plateau-time",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "two-stage: stage 2 ends when the loss has not fallen for this long; 0: never",
       .range = {.low = 0},
       .default_note = "5 over the growth rate",
       .where = {{"schedule", {"two-stage"}}}});
  t.push_back(
      {.name = "text",
       .kind = Kind::path,
       .default_text = "",
       .meaning = "take P and mu from the bigrams of a text (UTF-8), with one added to each count",
       .makes_problem = true});
  t.push_back({.name = "text-unit",
               .kind = Kind::word,
               .default_text = "char",
               .meaning = "unit of the text that is a token",
               .words = {"char", "word"},
               .where = {{.option = "text"}}});
  t.push_back({.name = "counts",
               .kind = Kind::path,
               .default_text = "",
               .meaning = "take P and mu from a table of bigram counts: from, to, count, "
                          "separated by tabs; one is added to each count",
               .makes_problem = true});
  return t;
}

SystemInfo make_info() {
  SystemInfo info;
  info.name = "scb";
  info.title = "Sparse contextual bigram: a one-layer linear transformer learns in two stages";
  info.source =
      "Ren, Wang, Lee, Learning and Transferring Sparse Contextual Bigrams with Linear "
      "Transformers, NeurIPS 2024, arXiv 2410.23438";
  info.equations = kEquations;
  info.parameters = parameters();
  info.dimensions = {{"token_out", "predicted token"},
                     {"token_in", "token that is read"},
                     {"token", "token"},
                     {"query", "last token, which selects the positions"},
                     {"slot", "place in the list of a query's support positions"},
                     {"position", "position in the context (full coordinates)"}};
  const std::string paper = "arXiv 2410.23438";
  info.fields = {{"V",
                  {"token_out", "token_in"},
                  "V",
                  "value matrix",
                  paper + ", section 2",
                  "full coordinates, or preconditioner none"},
                 {"A",
                  {"position", "query"},
                  "A",
                  "attention weights",
                  paper + ", section 2",
                  "full coordinates"},
                 {"W",
                  {"position", "query"},
                  "W",
                  "attention logits",
                  paper + ", section 2",
                  "full coordinates, softmax"},
                 {"A_support",
                  {"slot", "query"},
                  "A",
                  "attention weights at the support positions",
                  "exact reduction of the flow",
                  "support coordinates"},
                 {"A_off",
                  {"query"},
                  "A",
                  "attention weight of every position off the support",
                  "exact reduction of the flow",
                  "support coordinates"},
                 {"alpha_V",
                  {},
                  "alpha_V",
                  "share of P - mu 1' in V",
                  "exact reduction of the flow",
                  "support or signal coordinates, inverse-frequency"},
                 {"rho_V",
                  {},
                  "rho_V",
                  "remaining share of the start R0 in V",
                  "exact reduction of the flow",
                  "support or signal coordinates, inverse-frequency"},
                 {"beta_mu",
                  {},
                  "beta_mu",
                  "share of mu 1' in V",
                  "exact reduction of the flow",
                  "support coordinates, inverse-frequency"},
                 {"beta_0",
                  {},
                  "beta_0",
                  "remaining share of the start m0 1' in V",
                  "exact reduction of the flow",
                  "support coordinates, inverse-frequency"},
                 {"alpha_A",
                  {},
                  "alpha_A",
                  "share of q_k - 1/T in a_k",
                  "exact reduction of the flow",
                  "signal coordinates"}};
  info.observables = observable_table().infos();
  info.events = event_table().infos();
  info.stages = {{"boosting", "projected, without l1"},
                 {"regularised", "without the projection, with l1"},
                 {"ended", "at rest, since the loss was on a plateau"}};
  info.finals = final_table().infos();
  info.final_title = "rounded, normalised";
  info.finals_with = {{"schedule", "two-stage"}, {"rounding", ""}};
  info.invariants = {
      {"attention_sum_error", InvariantInfo::Form::zero,
       "1'a_k = 1: conserved with the projection or softmax"},
      {"column_sum_error", InvariantInfo::Form::zero,
       "1'V = 1': conserved with the projection or softmax, if it holds at the start"},
      {"stationary_error", InvariantInfo::Form::zero,
       "V mu = mu: conserved with the projection or softmax and the inverse-frequency "
       "preconditioner, if V0 mu = mu (otherwise V mu - mu decays as exp(-t), exactly)"}};
  info.constants = {{"K_P", "K_P", "tr(P'P Sigma)"},
                    {"kappa", "kappa", "sum_k mu_k |q_k|^2 - 1/T"},
                    {"loss_minimum", "L*", "population loss at V = P, A = Q"},
                    {"transfer_correlation", "tr(V_pre'P Sigma)/K_P",
                     "signal of the pretrained V from which the start was made (transfer only)"}};
  info.problem = {
      {"P",
       {"token_out", "token_in"},
       "transition matrix; not negative, columns sum to 1 within 1e-9"},
      {"mu", {"token"}, "stationary distribution, positive; computed from P if absent"},
      {"Q_value",
       {"slot", "query"},
       "weights of the positions; columns sum to 1, unused slots are 0"},
      {"Q_position",
       {"slot", "query"},
       "the positions, whole numbers from 0, distinct in a column; the attribute context_length of "
       "their group is T"},
      {"Q",
       {"position", "query"},
       "all weights, instead of Q_value and Q_position; columns sum to 1"},
      {"V0", {"token_out", "token_in"}, "start of V (optional)"}};
  info.end =
      "3 times the time at which a uniform start is boosted, plus 10 over the growth rate; a run "
      "prints both. With two stages twice that time (or --stage1-time), plus 50 over the rate";
  info.unreduced = {{"coordinates", "full"}};
  info.raw_gradients = {{"preconditioner", "none"}, {"project", "none"}};
  info.figure =
      "excess_loss; signal_V signal_A; signal_A over signal_V; distance_P distance_Q; V beside P; "
      "A beside Q";
  info.figure_of_sweeps = "boosted aligned fast_phase_end excess_loss";
  info.alternatives = {{{{"problem"}, {"text"}, {"counts"}}, true}};
  info.flow_in_lanes = [](const Parameters& own) { return own.word("coordinates") == "signal"; };
  return info;
}

}  // namespace

const SystemInfo& info() {
  static const SystemInfo instance = make_info();
  return instance;
}

}  // namespace popflow::scb
