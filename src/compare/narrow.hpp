#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace popflow {

/// Formats a table of 80 columns, the width of most terminals. The first `lead` columns name the
/// rows; columns that do not fit beside them stand in further tables below. A column is at least as
/// wide as its widest cell or as `narrowest`, whichever is less; longer cells are wrapped.
std::string narrow_table(const std::vector<std::vector<std::string>>& rows, std::size_t lead,
                         std::size_t narrowest);

/// Paragraph of at most 80 columns, in which `indent` blanks precede each line.
std::string narrow_paragraph(std::string_view text, std::size_t indent = 0);

}  // namespace popflow
