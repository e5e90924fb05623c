// SPDX-License-Identifier: MIT
// The whole contract between the front end and a backend. The front end has checked problem and buffers; a backend
// trusts them.
#pragma once

#include "phase.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace ct3d {

class Report;

// What a kernel may look at to decide whether it takes a problem, and how.
struct PlanContext {
    const Desc &desc;
    const PhaseTable &phases;
    int32_t device;
    int32_t threads; // at least 1; only the CPU looks at it
};

// A problem prepared for one kernel: immutable, so execute may run in several threads at once.
class Kernel {
public:
    virtual ~Kernel() = default;
    virtual uint64_t workspace_size() const = 0;
    virtual void execute(const ct3d_buffers &) const = 0;
    virtual void describe(Report &) const {} // the configuration, as fields
};

// What a kernel answers to a problem.
struct Offer {
    std::string refusal; // why the kernel cannot take the problem; empty if it can
    double seconds = 0;  // estimated, comparable among the kernels of one backend; the least is prepared first
    // Works as long as the context lives. Throws Error(CT3D_UNSUPPORTED) where only the attempt can tell that the
    // kernel cannot take the problem.
    std::function<std::unique_ptr<Kernel>()> prepare;
};

inline Offer refuse(std::string reason) { return {std::move(reason), 0, {}}; }

// A kernel that a backend can offer. Candidates stand in one list per backend, the general one last.
struct Candidate {
    const char *name;
    Offer (*consider)(const PlanContext &);
};

struct Backend {
    int32_t id; // CT3D_BACKEND_*
    const char *name;
    void (*probe)(ct3d_backend_info &); // fills device_count, version, reason
    void (*device_info)(int32_t device, ct3d_device_info &);
    int32_t (*threads)(int32_t requested); // of a plan, at least 1; 0 requests the default
    std::span<const Candidate> (*candidates)();
    void *(*alloc)(int32_t device, uint64_t bytes); // throws Error
    void (*free)(int32_t device, void *);
    void (*copy)(int32_t device, void *destination, const void *source, uint64_t bytes);
    void (*zero)(int32_t device, void *stream, void *memory, uint64_t bytes); // only enqueues on a GPU
    void (*synchronize)(int32_t device);
};

} // namespace ct3d
