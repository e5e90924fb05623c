// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include "buffers.hpp"
#include "log.hpp"
#include "registry.hpp"
#include "status.hpp"
#include "structs.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace ct3d;

namespace {

ct3d_plan_options read_options(const ct3d_plan_options *from) {
    ct3d_plan_options options;
    init_struct(&options, sizeof options);
    if (from)
        options = read_struct(from, "options");
    if (options.threads < 0)
        throw Error(CT3D_INVALID_ARGUMENT, "threads is %" PRId32 ", must be at least 0", options.threads);
    if (options.reserved != 0)
        throw Error(CT3D_INVALID_ARGUMENT, "reserved is %" PRId32 ", must be 0", options.reserved);
    if (!options.kernel)
        options.kernel = std::getenv("CT3D_KERNEL");
    if (options.kernel && !*options.kernel)
        options.kernel = nullptr;
    return options;
}

struct Ranked {
    const char *name;
    Offer offer;
};

} // namespace

ct3d_plan::ct3d_plan(const ct3d_problem *problem, const ct3d_plan_options *from)
    : desc(make_desc(problem)), phases(make_phase_table(desc)) {
    const ct3d_plan_options options = read_options(from);
    backend = &backend_with_device(options.backend, options.device);
    device = options.device;
    threads = backend->threads(options.threads);
    choose(options);
    if (log_enabled(1))
        log_line(1,
                 "plan %s %s %s %s, y %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64
                 ", kernel %s, workspace %" PRIu64,
                 backend->name, name(desc.op), name(desc.dtype), name(desc.layout), desc.batch, desc.out_channels,
                 desc.out[0], desc.out[1], desc.out[2], kernel_name, workspace_size());
}

void ct3d_plan::choose(const ct3d_plan_options &options) {
    const PlanContext context{desc, phases, device, threads};
    std::vector<Ranked> ranked;
    bool known = false;
    for (const Candidate &candidate : backend->candidates()) {
        if (options.kernel && std::string_view(options.kernel) != candidate.name)
            continue;
        known = true;
        if (desc.batch == 0) // nothing to prepare: the general kernel, or the forced one, stands for all
            kernel_name = candidate.name;
        else if (Offer offer = candidate.consider(context); !offer.refusal.empty())
            passed.push_back({candidate.name, std::move(offer.refusal)});
        else
            ranked.push_back({candidate.name, std::move(offer)});
    }
    if (!known)
        throw Error(CT3D_UNSUPPORTED, "kernel is \"%.64s\", backend %s has no kernel of that name", options.kernel,
                    backend->name);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked &a, const Ranked &b) { return a.offer.seconds < b.offer.seconds; });
    for (const Ranked &r : ranked) {
        if (kernel_name) {
            char reason[64];
            std::snprintf(reason, sizeof reason, "slower: estimated %.3g ms", r.offer.seconds * 1e3);
            passed.push_back({r.name, reason});
        } else if (prepare(r.name, r.offer, options.max_workspace)) {
            kernel_name = r.name;
            estimated_seconds = r.offer.seconds;
        }
    }
    if (kernel_name)
        return;
    std::string reasons;
    for (const Passed &p : passed) {
        if (!reasons.empty())
            reasons += "; ";
        reasons.append(p.kernel).append(": ").append(p.reason);
    }
    throw Error(CT3D_UNSUPPORTED, "no kernel of backend %s takes the problem: %s", backend->name, reasons.c_str());
}

bool ct3d_plan::prepare(const char *name, const Offer &offer, uint64_t max_workspace) {
    try {
        std::unique_ptr<const Kernel> prepared = offer.prepare();
        if (prepared->workspace_size() > max_workspace)
            throw Error(CT3D_UNSUPPORTED, "needs %" PRIu64 " bytes of workspace, max_workspace is %" PRIu64,
                        prepared->workspace_size(), max_workspace);
        kernel = std::move(prepared);
        return true;
    } catch (const Error &error) {
        if (error.status() != CT3D_UNSUPPORTED)
            throw;
        passed.push_back({name, error.message()});
        return false;
    }
}

void ct3d_plan::execute(const ct3d_buffers *from) const {
    const ct3d_buffers buffers = check_buffers(desc, from, workspace_size());
    if (log_enabled(2))
        log_line(2, "execute %s %s, kernel %s", backend->name, name(desc.op), kernel_name);
    if (kernel) {
        kernel->execute(buffers);
        return;
    }
    for (const Tensor &t : Tensors(desc, buffers))
        if (t.written && t.address)
            backend->zero(device, buffers.stream, t.address, t.bytes);
}

std::string ct3d_plan::describe(Report::Format format) const {
    Report report(format);
    report.field("op", name(desc.op));
    report.field("dtype", name(desc.dtype));
    report.field("math", name(desc.math));
    report.field("layout", name(desc.layout));
    report.field("weights_layout", name(desc.weights_layout));
    report.list("input", std::array{desc.batch, desc.in_channels, desc.in[0], desc.in[1], desc.in[2]});
    report.list("output", std::array{desc.batch, desc.out_channels, desc.out[0], desc.out[1], desc.out[2]});
    report.field("groups", desc.groups);
    report.field("phases", phases.phases());
    report.field("bias_only_share", phases.bias_only_share());
    report.field("flop", 2 * phases.multiplications());
    report.field("bytes", static_cast<double>(element_size(desc.dtype)) * total_elements(desc));
    report.field("backend", backend->name);
    report.field("device", device);
    report.field("threads", threads);
    report.field("kernel", kernel_name);
    report.field("estimated_ms", estimated_seconds * 1e3);
    report.field("workspace", workspace_size());
    if (kernel) {
        report.open_object("configuration");
        kernel->describe(report);
        report.close();
    }
    report.open_list("passed_over");
    for (const Passed &p : passed) {
        report.open_item();
        report.field("kernel", p.kernel);
        report.field("reason", p.reason);
        report.close();
    }
    report.close();
    return std::move(report).finish();
}
