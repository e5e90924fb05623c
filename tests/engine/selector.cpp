// SPDX-License-Identifier: MIT
#include "selector.hpp"

#include "values.hpp"

#include <set>

namespace ct3d::engine {
namespace {

std::vector<Case> expand_key(const std::vector<Case> &cases, const Key &key, const std::string &value) {
    std::vector<Case> expanded;
    for (const Case &c : cases)
        for (const Value &each : key.values)
            if (value == "all" || value == each.name) {
                expanded.push_back(c);
                set_key(expanded.back(), key.name, each.name);
            }
    return expanded;
}

// Keys without meaning for a case get their default, so that combinations which differ only there are the same.
Case canonical(Case c) {
    if (c.problem.dtype != CT3D_F32)
        c.problem.math = CT3D_MATH_FP32;
    if (c.problem.op == CT3D_BACKWARD_DATA)
        c.problem.has_bias = 1;
    return c;
}

} // namespace

std::vector<Case> expand(const Case &c, const Selectors &selectors) {
    std::vector<Case> cases{c};
    for (const auto &[name, value] : selectors) {
        Case probe = c;
        if (value != "all" || find_key(name) == nullptr)
            set_key(probe, name, value);
        cases = expand_key(cases, *find_key(name), value);
    }
    std::set<std::string> seen;
    std::vector<Case> distinct;
    for (const Case &each : cases)
        if (seen.insert(to_line(canonical(each))).second)
            distinct.push_back(canonical(each));
    return distinct;
}

} // namespace ct3d::engine
