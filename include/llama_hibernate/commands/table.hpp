#pragma once
// Rows of cells, laid out in columns: pure.

#include <cstddef>
#include <string>
#include <vector>

namespace hibernate::commands {

using table_row = std::vector<std::string>;

/// A line for each row, all of which have as many cells. The first columns, so many, stand to the
/// left and the others to the right; the last is not padded. Cells are made harmless for a
/// terminal.
std::string lay_out(std::vector<table_row> rows, std::size_t left_columns);

} // namespace hibernate::commands
