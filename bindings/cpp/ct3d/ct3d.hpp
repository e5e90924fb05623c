// SPDX-License-Identifier: MIT
// C++17 binding of ct3d: a plan that owns itself, and failures as exceptions. Header-only, over ct3d.h.
//
//     ct3d::Problem problem;
//     problem.in_channels = 32;
//     ...
//     ct3d::Plan plan(problem);
//     ct3d::Buffers buffers;
//     buffers.x = x.data();
//     ...
//     plan.execute(buffers);
//
// tests/example.cpp is a complete program.
#ifndef CT3D_CT3D_HPP
#define CT3D_CT3D_HPP

#include <ct3d/ct3d.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace ct3d {

/// A status other than CT3D_SUCCESS; what() is the library's message, or the status's name where it has none.
class Error : public std::runtime_error {
public:
    Error(ct3d_status status, const std::string &message)
        : std::runtime_error(message.empty() ? ct3d_status_string(status) : message), status_(status) {}

    ct3d_status status() const noexcept { return status_; }

private:
    ct3d_status status_;
};

/// Throws Error unless the status is CT3D_SUCCESS. For use right after the call that returned it.
inline void check(ct3d_status status) {
    if (status != CT3D_SUCCESS)
        throw Error(status, ct3d_last_error());
}

/// ct3d_problem with the defaults of ct3d_problem_init().
struct Problem : ct3d_problem {
    Problem() noexcept { ct3d_problem_init(this, sizeof(ct3d_problem)); }

    /// N, C, D, H, W of y.
    std::array<std::int64_t, 5> output_shape() const {
        std::array<std::int64_t, 5> shape{};
        check(ct3d_output_shape(this, shape.data()));
        return shape;
    }
};

/// ct3d_plan_options with the defaults of ct3d_plan_options_init().
struct PlanOptions : ct3d_plan_options {
    PlanOptions() noexcept { ct3d_plan_options_init(this, sizeof(ct3d_plan_options)); }
};

/// ct3d_buffers with all pointers NULL.
struct Buffers : ct3d_buffers {
    Buffers() noexcept { ct3d_buffers_init(this, sizeof(ct3d_buffers)); }
};

/// Memory from ct3d_alloc(), freed with its owner. Aligned for a workspace.
class Memory {
public:
    Memory() noexcept = default;

    explicit Memory(std::uint64_t bytes, std::int32_t backend = CT3D_BACKEND_AUTO, std::int32_t device = 0)
        : bytes_(bytes), backend_(backend), device_(device) {
        check(ct3d_alloc(backend, device, bytes, &data_));
    }

    Memory(Memory &&other) noexcept { swap(other); }
    Memory &operator=(Memory &&other) noexcept {
        Memory(std::move(other)).swap(*this);
        return *this;
    }
    ~Memory() { (void)ct3d_free(backend_, device_, data_); }

    void *data() const noexcept { return data_; }
    std::uint64_t size() const noexcept { return bytes_; }

    void swap(Memory &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(backend_, other.backend_);
        std::swap(device_, other.device_);
    }

private:
    void *data_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::int32_t backend_ = CT3D_BACKEND_AUTO;
    std::int32_t device_ = 0;
};

/// A plan, owned. Movable, not copyable. A const Plan may be executed from several threads at once, each with its own
/// workspace and outputs. A plan that was moved from may only be
/// destroyed or assigned to; its other members throw Error.
class Plan {
public:
    explicit Plan(const ct3d_problem &problem) : Plan(problem, nullptr) {}
    Plan(const ct3d_problem &problem, const ct3d_plan_options &options) : Plan(problem, &options) {}

    std::uint64_t workspace_size() const {
        std::uint64_t bytes = 0;
        check(ct3d_plan_workspace_size(get(), &bytes));
        return bytes;
    }

    std::int32_t backend() const { return place().first; }
    std::int32_t device() const { return place().second; }

    /// Workspace for one execute at a time, on the plan's device.
    Memory new_workspace() const { return Memory(workspace_size(), backend(), device()); }

    /// @param format CT3D_DESCRIBE_TEXT or CT3D_DESCRIBE_JSON
    std::string describe(std::int32_t format = CT3D_DESCRIBE_TEXT) const {
        std::size_t needed = 0;
        check(ct3d_describe_plan(get(), format, nullptr, 0, &needed));
        std::string text(needed, '\0');
        check(ct3d_describe_plan(get(), format, text.data(), text.size(), nullptr));
        text.resize(needed - 1);
        return text;
    }

    void execute(const ct3d_buffers &buffers) const { check(ct3d_execute(get(), &buffers)); }

    /// For the C functions; NULL after a move.
    const ct3d_plan *get() const noexcept { return plan_.get(); }

private:
    struct Destroy {
        void operator()(ct3d_plan *plan) const noexcept { ct3d_destroy_plan(&plan); }
    };

    Plan(const ct3d_problem &problem, const ct3d_plan_options *options) {
        ct3d_plan *plan = nullptr;
        check(ct3d_create_plan(&plan, &problem, options));
        plan_.reset(plan);
    }

    std::pair<std::int32_t, std::int32_t> place() const {
        std::int32_t backend = 0, device = 0;
        check(ct3d_plan_device(get(), &backend, &device));
        return {backend, device};
    }

    std::unique_ptr<ct3d_plan, Destroy> plan_;
};

} // namespace ct3d

#endif
