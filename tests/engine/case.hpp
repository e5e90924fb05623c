// SPDX-License-Identifier: MIT
// A case: a problem, and the data and alignment to run it with; one line of text.
//
//     name N Cin Cout  D,H,W  kernel stride padding output_padding dilation groups  [key=value ...]
#pragma once

#include "fill_value.hpp"

#include <ct3d/ct3d.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ct3d::engine {

struct Case {
    std::string name;
    ct3d_problem problem; // has_bias: FORWARD reads a bias, BACKWARD_WEIGHTS writes dbias too
    Fill fill = Fill::symmetric;
    uint64_t offset = 0; // bytes that every tensor lies past a 64-byte boundary
};

// A line, file or selector that cannot be understood, or a problem that is not legal; names the field.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

Case parse_line(std::string_view line);
std::vector<Case> parse_file(const std::string &path); // at least one; without empty lines and comments

// The shortest line that parse_line() turns into the same case.
std::string to_line(const Case &);

// Throws UsageError with the status and the field where the case is not legal.
void validate(const Case &);

// The same case with a batch of at most 2 and input extents of at most 8; an axis that would lose its output is kept.
Case small_form(Case);

// The value of a key (dtype, math, layout, wlayout, op, bias, fill), as a number of the API and as its name.
int32_t key_value(const Case &, std::string_view key);
const char *key_value_name(const Case &, std::string_view key);
void set_key(Case &, std::string_view key, std::string_view value); // throws UsageError

const char *name(Fill);

} // namespace ct3d::engine
