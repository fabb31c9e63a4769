#pragma once

#include <Eigen/Core>
#include <vector>

#include "popflow/system.hpp"
#include "training/training_plan.hpp"

namespace popflow {

/// Block of the state that is a matrix or a list of matrices, in the layout of its field.
struct MatrixBlock {
  Eigen::Index number = 0;  ///< of matrices; 0: the block has none
  Eigen::Index rows = 0, columns = 0;
  /// Place in the block of each entry of the row-major matrices, one matrix after the other
  /// (MomentField::places).
  std::vector<std::size_t> places = {};
};

/// The steps and the flow of a training rule whose directions depend on the norm or the shape of
/// the whole gradient: clipping, and UpdateRule::Whole. The rule's own formulas do the rest.
class WholeRule {
 public:
  /// `system` must have raw gradients.
  WholeRule(const TrainingPlan& plan, const System& system);

  // As the functions of UpdateRule. The gradients are replaced.
  void step(RuleInstant<double> now, const RuleEntries& of, std::span<double> g,
            RuleArrays<double> to) const;
  void flow(RuleInstant<double> now, const RuleEntries& of, std::span<double> f, const double* d,
            RuleArrays<const double> at, RuleArrays<double> derivative) const;
  void noisy_step(RuleInstant<double> now, const RuleEntries& of, const NoisyGradients<double>& g,
                  RuleArrays<double> to) const;

 private:
  using Whole = UpdateRule::Whole;
  /// One block of the state with its parts of the entries and of the arrays.
  struct Part {
    std::size_t first, size;
    MatrixBlock matrix;
    [[nodiscard]] RuleEntries of(const RuleEntries& all) const;
    template <class Number>
    [[nodiscard]] RuleArrays<Number> of(const RuleArrays<Number>& all) const {
      return {all.x + first, all.m + first, all.u + first};
    }
  };
  void clip(std::span<double> g) const;
  /// Subtracts coupled weight decay from the gradients, so that it is a part of the whole.
  static void decay(RuleInstant<double>& now, const RuleEntries& of, const double* x,
                    std::span<double> g);
  /// Writes the direction of each matrix along its orthogonalised m or, if its m is 0, `otherwise`.
  void write_direction(const Part& part, const double* m, const double* otherwise,
                       std::vector<double>& direction) const;

  const UpdateRule& rule_;
  double clip_norm_, momentum_, rate_of_momentum_;
  bool by_newton_schulz_;
  std::vector<Part> parts_;
};

}  // namespace popflow
