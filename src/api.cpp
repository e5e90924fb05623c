// SPDX-License-Identifier: MIT
// The C boundary: guard, forward, translate. No logic.
#include "log.hpp"
#include "plan.hpp"
#include "registry.hpp"
#include "status.hpp"
#include "structs.hpp"

#include <algorithm>
#include <cstdio>

using namespace ct3d;

namespace {

#define CT3D_TEXT_OF(value) #value
#define CT3D_TEXT(value) CT3D_TEXT_OF(value)

const char version_text[] =
    CT3D_TEXT(CT3D_VERSION_MAJOR) "." CT3D_TEXT(CT3D_VERSION_MINOR) "." CT3D_TEXT(CT3D_VERSION_PATCH);

template <class Pointer> void require(Pointer pointer, const char *argument) {
    if (!pointer)
        throw Error(CT3D_INVALID_ARGUMENT, "%s is NULL", argument);
}

} // namespace

extern "C" {

int32_t ct3d_version() { return CT3D_VERSION; }

const char *ct3d_version_string() { return version_text; }

const char *ct3d_status_string(ct3d_status status) {
    static const char *const names[] = {"CT3D_SUCCESS",       "CT3D_INVALID_ARGUMENT", "CT3D_UNSUPPORTED",
                                        "CT3D_OUT_OF_MEMORY", "CT3D_DEVICE_ERROR",     "CT3D_INTERNAL"};
    return status >= CT3D_SUCCESS && status <= CT3D_INTERNAL ? names[status] : "unknown status";
}

const char *ct3d_last_error() { return last_error(); }

void ct3d_set_log_callback(ct3d_log_fn fn, void *user) { set_log_callback(fn, user); }

void ct3d_problem_init(ct3d_problem *problem, size_t size) { init_struct(problem, size); }
void ct3d_plan_options_init(ct3d_plan_options *options, size_t size) { init_struct(options, size); }
void ct3d_buffers_init(ct3d_buffers *buffers, size_t size) { init_struct(buffers, size); }
void ct3d_backend_info_init(ct3d_backend_info *info, size_t size) { init_struct(info, size); }
void ct3d_device_info_init(ct3d_device_info *info, size_t size) { init_struct(info, size); }

ct3d_status ct3d_output_shape(const ct3d_problem *problem, int64_t shape[5]) {
    return guarded([&] {
        require(shape, "shape");
        const Desc d = make_desc(problem);
        shape[0] = d.batch;
        shape[1] = d.out_channels;
        std::copy(d.out.begin(), d.out.end(), shape + 2);
    });
}

ct3d_status ct3d_create_plan(ct3d_plan **plan, const ct3d_problem *problem, const ct3d_plan_options *options) {
    return guarded([&] {
        require(plan, "plan");
        *plan = nullptr;
        *plan = new ct3d_plan(problem, options);
    });
}

ct3d_status ct3d_plan_workspace_size(const ct3d_plan *plan, uint64_t *bytes) {
    return guarded([&] {
        require(plan, "plan");
        require(bytes, "bytes");
        *bytes = plan->workspace_size();
    });
}

ct3d_status ct3d_plan_device(const ct3d_plan *plan, int32_t *backend, int32_t *device) {
    return guarded([&] {
        require(plan, "plan");
        if (backend)
            *backend = plan->backend->id;
        if (device)
            *device = plan->device;
    });
}

ct3d_status ct3d_describe_plan(const ct3d_plan *plan, int32_t format, char *text, size_t capacity, size_t *needed) {
    return guarded([&] {
        require(plan, "plan");
        if (format != CT3D_DESCRIBE_TEXT && format != CT3D_DESCRIBE_JSON)
            throw Error(CT3D_INVALID_ARGUMENT, "format is %d, must be CT3D_DESCRIBE_TEXT or CT3D_DESCRIBE_JSON",
                        static_cast<int>(format));
        if (capacity > 0)
            require(text, "text");
        const std::string whole =
            plan->describe(format == CT3D_DESCRIBE_JSON ? Report::Format::json : Report::Format::text);
        if (capacity > 0)
            std::snprintf(text, capacity, "%s", whole.c_str());
        if (needed)
            *needed = whole.size() + 1;
    });
}

ct3d_status ct3d_execute(const ct3d_plan *plan, const ct3d_buffers *buffers) {
    return guarded([&] {
        require(plan, "plan");
        plan->execute(buffers);
    });
}

void ct3d_destroy_plan(ct3d_plan **plan) {
    if (!plan)
        return;
    delete *plan;
    *plan = nullptr;
}

ct3d_status ct3d_get_backend_info(int32_t backend, ct3d_backend_info *info) {
    return guarded([&] {
        check_struct_size(info, "info");
        write_struct(info, backend_info(backend));
    });
}

ct3d_status ct3d_get_device_info(int32_t backend, int32_t device, ct3d_device_info *info) {
    return guarded([&] {
        check_struct_size(info, "info");
        const Backend &b = backend_with_device(backend, device);
        ct3d_device_info values{};
        values.backend = b.id;
        values.device = device;
        b.device_info(device, values);
        write_struct(info, values);
    });
}

ct3d_status ct3d_alloc(int32_t backend, int32_t device, uint64_t bytes, void **memory) {
    return guarded([&] {
        require(memory, "memory");
        *memory = nullptr;
        const Backend &b = backend_with_device(backend, device);
        if (bytes > 0)
            *memory = b.alloc(device, bytes);
    });
}

ct3d_status ct3d_free(int32_t backend, int32_t device, void *memory) {
    return guarded([&] {
        const Backend &b = backend_with_device(backend, device);
        if (memory)
            b.free(device, memory);
    });
}

ct3d_status ct3d_copy(int32_t backend, int32_t device, void *destination, const void *source, uint64_t bytes) {
    return guarded([&] {
        const Backend &b = backend_with_device(backend, device);
        if (bytes == 0)
            return;
        require(destination, "destination");
        require(source, "source");
        b.copy(device, destination, source, bytes);
    });
}

ct3d_status ct3d_synchronize(int32_t backend, int32_t device) {
    return guarded([&] { backend_with_device(backend, device).synchronize(device); });
}

} // extern "C"
