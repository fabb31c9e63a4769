#include "dynamics/scb/lanes.hpp"

#include <cstddef>

#include "dynamics/scb/look.hpp"
#include "popflow/widest.hpp"

namespace popflow::scb {

namespace {

using std::size_t;

// Rows of the parameters, of the state and of the events.
enum Parameter : size_t { kX, kY, kKP, kKappa, kUniform, kT, kParameters };
enum Entry : size_t { kAlphaV, kRhoV, kAlphaA, kEntries };
enum Event : size_t { kBoosted, kAligned, kFastPhaseEnd };

inline double at(const double* rows, size_t row, size_t lane) { return rows[row * kLanes + lane]; }
inline double& at(double* rows, size_t row, size_t lane) { return rows[row * kLanes + lane]; }

POPFLOW_WIDEST void flow(const LaneSizes& /*sizes*/, const double* __restrict of,
                         const double* __restrict state, double* __restrict dxdt) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double alpha_V = at(state, kAlphaV, l);
    const double rho_V = at(state, kRhoV, l);
    const double alpha_A = at(state, kAlphaA, l);
    const double x = at(of, kX, l);
    const double K_P = at(of, kKP, l);
    const double PV = rho_V * x + alpha_V * K_P;
    const double VV =
        rho_V * rho_V * at(of, kY, l) + 2 * rho_V * alpha_V * x + alpha_V * alpha_V * K_P;
    const double q = at(of, kUniform, l) + at(of, kKappa, l) * alpha_A;
    const double two = at(of, kUniform, l) + at(of, kKappa, l) * alpha_A * alpha_A;
    at(dxdt, kAlphaV, l) = q - two * alpha_V;
    at(dxdt, kRhoV, l) = -two * rho_V;
    at(dxdt, kAlphaA, l) = PV - VV * alpha_A;
  }
}

POPFLOW_WIDEST void events(const LaneSizes& /*sizes*/, const double* __restrict of,
                           const double* __restrict state, double* __restrict values) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double kappa = at(of, kKappa, l);
    const double signal_V =
        (at(state, kRhoV, l) * at(of, kX, l) + at(state, kAlphaV, l) * at(of, kKP, l)) /
        at(of, kKP, l);
    const EventLook look{.signal_V = signal_V,
                         .product = signal_V * (at(state, kAlphaA, l) * kappa) / kappa,
                         .kappa = kappa,
                         .T = at(of, kT, l)};
    at(values, kBoosted, l) = boosted(look);
    at(values, kAligned, l) = aligned(look);
    at(values, kFastPhaseEnd, l) = fast_phase_end(look);
  }
}

}  // namespace

const LaneFormulas& signal_lanes() {
  static const LaneFormulas formulas{{kParameters, kEntries}, flow, nullptr, events};
  return formulas;
}

void signal_parameters(const SignalProblem& problem, std::span<double> of) {
  of[kX] = problem.x;
  of[kY] = problem.y;
  of[kKP] = problem.K_P;
  of[kKappa] = problem.kappa;
  of[kUniform] = problem.uniform;
  of[kT] = problem.T;
}

}  // namespace popflow::scb
