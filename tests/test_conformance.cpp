// SPDX-License-Identifier: MIT
// The cases of tests/cases, whole or in their small form, with every fill, type, layout and operation.
//
// By default each case runs with every fill as its line says, and once more per fill with other selectors, drawn so
// that all of their values come up; CT3D_TEST_FULL=1 runs the full matrix on every kernel.
#include "case_runs.hpp"
#include "geometry.hpp"
#include "plan.hpp"
#include "selector.hpp"
#include "support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace {

using ct3d::engine::Case;
using ct3d::engine::Selectors;
using ct3d::tests::CaseRuns;

const char *const fills[] = {"symmetric", "exact", "positive", "constant", "identity", "onehot"};
constexpr uint64_t seed = 1;

std::vector<Case> cases_of(const char *file) {
    return ct3d::engine::parse_file(std::string(CASES_DIRECTORY) + "/" + file);
}

bool is_large(const Case &c) {
    return ct3d::engine::products(c.problem) > 1e9 || ct3d::engine::tensor_bytes(c.problem) > 1e9;
}

// Once, on the kernel that a user would get.
void run_large(CaseRuns &runs, Case c) {
    ct3d::engine::set_key(c, "fill", "exact");
    runs.run(c);
}

// The n-th of the selectors' combinations, such that neighbours differ in most of them.
Case nth_variant(Case c, size_t n) {
    static const char *const dtypes[] = {"f32", "bf16", "f16", "f64"};
    static const char *const layouts[] = {"ncdhw", "ndhwc"}, *const wlayouts[] = {"iodhw", "idhwo"};
    const std::vector<const char *> ops = ct3d::tests::tested_ops();
    ct3d::engine::set_key(c, "dtype", dtypes[n % 4]);
    ct3d::engine::set_key(c, "math", n % 8 == 4 ? "tf32" : "fp32");
    ct3d::engine::set_key(c, "layout", layouts[n / 2 % 2]);
    ct3d::engine::set_key(c, "wlayout", wlayouts[n / 3 % 2]);
    ct3d::engine::set_key(c, "op", ops[n % ops.size()]);
    ct3d::engine::set_key(c, "bias", n % 5 ? "1" : "0");
    return c;
}

void run_sparse(CaseRuns &runs, const Case &c, size_t number) {
    for (size_t f = 0; f < std::size(fills); ++f) {
        Case as_written = c;
        ct3d::engine::set_key(as_written, "fill", fills[f]);
        runs.run(as_written);
        const Case variant = nth_variant(as_written, 7 * number + 5 * f);
        const std::vector<std::string> kernels =
            ct3d::engine::kernel_names(variant.problem, ct3d::tests::tested_place());
        runs.run(variant, kernels[(number + f) % kernels.size()]);
    }
}

void run_full(CaseRuns &runs, const Case &c) {
    const char *const ops = ct3d::tests::tested_ops().size() == 1 ? "forward" : "all";
    const Selectors all{{"dtype", "all"}, {"math", "all"}, {"layout", "all"}, {"wlayout", "all"},
                        {"op", ops},      {"bias", "all"}, {"fill", "all"}};
    for (const Case &each : ct3d::engine::expand(c, all))
        for (const std::string &kernel : ct3d::engine::kernel_names(each.problem, ct3d::tests::tested_place()))
            runs.run(each, kernel);
}

// CT3D_TEST_PRODUCTS: cases of more products are cut, or skipped by name, for builds that run slowly.
double products_limit() {
    const char *text = std::getenv("CT3D_TEST_PRODUCTS");
    return text ? std::strtod(text, nullptr) : HUGE_VAL;
}

// Cut further where the limit asks for it, as long as there is an output.
Case within_limit(Case c) {
    while (ct3d::engine::products(c.problem) > products_limit()) {
        const ct3d_problem before = c.problem;
        int64_t &longest = *std::max_element(c.problem.in, c.problem.in + 3);
        if (c.problem.batch > 1)
            c.problem.batch = 1;
        else
            longest = (longest + 1) / 2;
        int64_t shape[5];
        if (ct3d_output_shape(&c.problem, shape) != CT3D_SUCCESS || longest < 2) {
            c.problem = before;
            break;
        }
    }
    return c;
}

void run_cases(const std::vector<Case> &cases) {
    CaseRuns runs(seed);
    for (size_t i = 0; i < cases.size(); ++i)
        if (ct3d::engine::products(cases[i].problem) > products_limit())
            print_message("skipped \"%s\": over CT3D_TEST_PRODUCTS\n", cases[i].name.c_str());
        else if (is_large(cases[i]))
            run_large(runs, cases[i]);
        else if (ct3d::tests::full_matrix())
            run_full(runs, cases[i]);
        else
            run_sparse(runs, cases[i], i);
    runs.finish();
}

void cases_pass(void **) {
    std::vector<Case> cases = cases_of("cases.txt");
    std::transform(cases.begin(), cases.end(), cases.begin(),
                   [](const Case &c) { return is_large(c) ? c : within_limit(c); });
    run_cases(cases);
}

void small_forms_of_the_suite_pass(void **) {
    std::vector<Case> cases = cases_of("suite.txt");
    std::transform(cases.begin(), cases.end(), cases.begin(),
                   [](const Case &c) { return within_limit(ct3d::engine::small_form(c)); });
    run_cases(cases);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(cases_pass),
        cmocka_unit_test(small_forms_of_the_suite_pass),
    };
    return cmocka_run_group_tests_name("conformance", tests, nullptr, nullptr);
}
