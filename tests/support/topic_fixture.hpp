#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynamics/topic/full.hpp"
#include "dynamics/topic/system.hpp"
#include "support/topic_reference.hpp"

namespace popflow::topic::test {

/// Small data sets with every kind of position, and with every range's ends.
std::vector<Data> small_data();
std::string describe(const Data& data);

/// Returns a system whose start consists of independent normal numbers of size `size`.
std::unique_ptr<Topic> make_random(const Data& data, const Variant& variant, double size,
                                   std::uint64_t seed);
/// Returns a system that starts at the given numbers of start_fields().
std::unique_ptr<Topic> make_at(const Data& data, const Variant& variant,
                               std::vector<double> fields);

// ---- Full matrices, with samples of `length` words

std::unique_ptr<FullTopic> make_full(const Data& data, const Variant& variant, FullStart start,
                                     std::int64_t length = 40, unsigned threads = 1);
/// Returns a system with a start without any symmetry.
std::unique_ptr<FullTopic> make_full_random(const Data& data, const Variant& variant, double size,
                                            std::uint64_t seed, std::int64_t length = 40,
                                            unsigned threads = 1);
/// Returns every variant with this weight of the l2 term.
std::vector<Variant> all_variants(double l2);
std::string describe(const Variant& variant);

std::vector<double> start_of(const System& system);
std::vector<double> rhs_of(const System& system, const std::vector<double>& x);
/// Returns a recorded field in row-major order.
std::vector<double> field_of(const System& system, const std::string& name,
                             const std::vector<double>& x);
std::map<std::string, double> observe(const System& system, const std::vector<double>& x);

// ---- Full matrices, (n+1) x (n+1), built entry by entry

Eigen::MatrixXd full_value(const Data& data, const Values<double>& W);
Eigen::MatrixXd full_logit(const Data& data, const Logits<double>& logit);
Eigen::MatrixXd full_factor(const Data& data, const Subspaces<double>& factor);
/// Returns the matrices that a state represents. The logits are the product of the full factors, if
/// there are any. In embedding training the value matrix is E = W_E'W_E with the full W_E.
Matrices full(const Topic& system, const std::vector<double>& x);
Matrices full(const FullTopic& system, const std::vector<double>& x);
/// Returns the velocity of a state of full matrices, from the gradients with respect to W_V (or E)
/// and Lambda: the derivatives by the state's entries, in their order, without the l2 term.
std::vector<double> by_state(const FullTopic& system, const std::vector<double>& x,
                             const Matrices& by);

}  // namespace popflow::topic::test
