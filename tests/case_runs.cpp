// SPDX-License-Identifier: MIT
#include "case_runs.hpp"

#include "support.h"

#include <cstdlib>
#include <string_view>

namespace ct3d::tests {

using engine::Case;
using engine::Result;
using engine::Status;

namespace {

std::string command(const Case &c, const std::string &kernel, uint64_t seed) {
    std::string text = "ct3d check \"";
    text.append(engine::to_line(c)).append("\" --seed ").append(std::to_string(seed));
    if (const char *backend = std::getenv("CT3D_BACKEND"))
        text.append(" --backend ").append(backend);
    if (!kernel.empty())
        text.append(" --kernel ").append(kernel);
    return text;
}

// Devices of CDNA 2 and 3 do.
bool has_mfma() {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    const engine::Place place = tested_place();
    engine::require(ct3d_get_device_info(place.backend, place.device, &info), "ct3d_get_device_info");
    const std::string_view arch = info.arch;
    return arch == "gfx90a" || arch == "gfx942";
}

} // namespace

Result CaseRuns::run(const Case &c, const std::string &kernel) {
    engine::RunOptions options;
    options.plan.place = tested_place();
    options.plan.kernel = kernel;
    options.seed = seed_;
    options.max_memory = memory_limit();
    options.references = &references_;
    const Result result = engine::run(c, options);
    tally_.add(result);
    if (result.status == Status::failed)
        print_error("FAILED %s\n  %s: %s\n  %s\n", command(c, kernel, seed_).c_str(), result.kernel.c_str(),
                    result.reason.c_str(), result.worst ? engine::describe(*result.worst).c_str() : "");
    if (result.status == Status::skipped)
        print_message("skipped \"%s\" %s: %s\n", engine::to_line(c).c_str(), kernel.c_str(), result.reason.c_str());
    return result;
}

void CaseRuns::finish() const {
    for (const auto &[kernel, count] : tally_.kernels)
        print_message("kernel %s: %lld problems, %lld passed\n", kernel.c_str(), static_cast<long long>(count.problems),
                      static_cast<long long>(count.passed));
    print_message("%lld skipped\n", static_cast<long long>(tally_.skipped));
    assert_true(tally_.problems() > 0);
    assert_int_equal(tally_.failed(), 0);
}

engine::Place tested_place() {
    const char *backend = std::getenv("CT3D_BACKEND");
    return {backend ? engine::backend_of(backend) : CT3D_BACKEND_CPU, 0};
}

std::vector<const char *> tested_ops() {
    if (tested_place().backend != CT3D_BACKEND_CPU)
        return {"forward"};
    return {"forward", "backward_data", "backward_weights"};
}

std::vector<std::string> all_kernels() {
    if (tested_place().backend == CT3D_BACKEND_CUDA)
        return HAVE_SM90 ? std::vector<std::string>{"patch_gemm",    "phase_wgmma", "phase_gemm", "group_gemm",
                                                    "single_output", "few_outputs", "direct",     "portable"}
                         : std::vector<std::string>{"phase_gemm",  "group_gemm", "single_output",
                                                    "few_outputs", "direct",     "portable"};
    if (tested_place().backend == CT3D_BACKEND_HIP)
        return has_mfma() ? std::vector<std::string>{"phase_gemm_mfma", "direct", "portable"}
                          : std::vector<std::string>{"direct", "portable"};
    if (HAVE_ONEDNN)
        return {"direct", "phase", "onednn", "onednn_phase"};
    return {"direct", "phase"};
}

bool full_matrix() {
    const char *text = std::getenv("CT3D_TEST_FULL");
    return text && *text && *text != '0';
}

double memory_limit() {
    const char *text = std::getenv("CT3D_TEST_MEMORY");
    return 1e9 * (text ? std::strtod(text, nullptr) : 8);
}

} // namespace ct3d::tests
