#include "dynamics/scb/observables.hpp"

#include <vector>

namespace popflow::scb {

const BoundTable<ObservableInfo, Evaluation>& observable_table() {
  const char* paper = "arXiv 2410.23438";
  const char* section_2 = "arXiv 2410.23438, section 2";
  const char* section_4 = "arXiv 2410.23438, section 4";
  static const BoundTable<ObservableInfo, Evaluation> table =
      std::vector<Bound<ObservableInfo, Evaluation>>{
          {{"loss", "L", "population loss", section_2, 1e-16},
           [](const Evaluation& x) { return x.loss; }},
          // Terms of second order in V - P and A - Q, whose errors are 1e-16 to 1e-15.
          {{"excess_loss", "L - L*", "population loss above its minimum", section_2, 1e-30},
           [](const Evaluation& x) { return x.excess_loss; }},
          {{"signal_V", "tr(V'P Sigma)/K_P", "signal of the value matrix; 1 at V = P", section_4},
           [](const Evaluation& x) { return x.signal_V; }},
          {{"signal_A", "sum_k mu_k <a_k - 1/T, q_k - 1/T>/kappa",
            "signal of the attention; 1 at A = Q", section_4},
           [](const Evaluation& x) { return x.signal_A; }},
          {{"distance_P", "|V - P|_F", "distance of V from the transition matrix", paper, 1e-15},
           [](const Evaluation& x) { return x.V.distance; }},
          {{"distance_Q", "|A - Q|_F", "distance of the attention from Q", paper, 1e-15},
           [](const Evaluation& x) { return x.A.distance; }},
          {{"attention_sum_error", "max_k |1'a_k - 1|",
            "largest error of an attention column's sum", paper, 1e-15},
           [](const Evaluation& x) { return x.A.sum_error; }},
          {{"stationary_error", "max |V mu - mu|", "largest error of V mu = mu", paper, 1e-15},
           [](const Evaluation& x) { return x.V.stationary_error; }},
          {{"column_sum_error", "max |1'V - 1'|", "largest error of a column sum of V", paper,
            1e-15},
           [](const Evaluation& x) { return x.V.column_sum_error; }}};
  return table;
}

const BoundTable<EventInfo, EventEvaluation>& event_table() {
  static const BoundTable<EventInfo, EventEvaluation> table =
      std::vector<Bound<EventInfo, EventEvaluation>>{
          {{"boosted", "signal_V signal_A first reaches 1/2 with signal_V > 0", ""},
           [](const EventEvaluation& x) { return boosted(x.signals); }},
          {{"aligned",
            "signal_V signal_A first reaches 0.9 (two-stage: often at stage2, because of the "
            "threshold)",
            ""},
           [](const EventEvaluation& x) { return aligned(x.signals); }},
          {{"fast_phase_end",
            "first time after boosted with kappa (1 - signal_V signal_A)^2 <= (1 - signal_V)^2 / T "
            "(linear, projected)",
            "boosted"},
           [](const EventEvaluation& x) { return fast_phase_end(x.signals); }},
          {{"stage2", "two-stage: stage 1 ends, and small attention weights are set to zero", ""},
           [](const EventEvaluation& x) { return x.stage - 1.5; }},
          {{"plateau", "two-stage: the loss no longer falls, and training ends", ""},
           [](const EventEvaluation& x) { return x.stage - 2.5; }}};
  return table;
}

const BoundTable<FinalInfo, EndEvaluation>& final_table() {
  static const BoundTable<FinalInfo, EndEvaluation> table = std::vector<
      Bound<FinalInfo, EndEvaluation>>{
      {{"loss_before", "L", "population loss at the end"},
       [](const EndEvaluation& x) { return x.before.loss; }},
      {{"loss_after", "L", "population loss after rounding and normalising"},
       [](const EndEvaluation& x) { return x.after.loss; }},
      {{"distance_P_before", "|V - P|_F", "distance of V from P at the end"},
       [](const EndEvaluation& x) { return x.before.V.distance; }},
      {{"distance_P_after", "|V - P|_F",
        "distance of V from P, after its columns are divided by their sums"},
       [](const EndEvaluation& x) { return x.after.V.distance; }},
      {{"distance_Q_before", "|A - Q|_F", "distance of A from Q at the end"},
       [](const EndEvaluation& x) { return x.before.A.distance; }},
      {{"distance_Q_after", "|A - Q|_F", "distance of A from Q after rounding and normalising"},
       [](const EndEvaluation& x) { return x.after.A.distance; }},
      {{"weights_kept", "", "number of attention weights that rounding keeps"},
       [](const EndEvaluation& x) { return x.kept.weights; }},
      {{"columns_emptied", "", "columns of A in which rounding sets all weights to zero", true},
       [](const EndEvaluation& x) { return static_cast<double>(x.kept.empty_columns); }},
      {{"columns_of_V_kept", "",
        "columns of V that are not divided by their sum, because the sum is not positive", true},
       [](const EndEvaluation& x) { return static_cast<double>(x.V_columns_without_sum); }},
      {{"columns_below_threshold", "",
        "columns of A whose weights were all below the threshold after stage 1; they kept their "
        "largest weights",
        true},
       [](const EndEvaluation& x) { return x.below_threshold; }}};
  return table;
}

}  // namespace popflow::scb
