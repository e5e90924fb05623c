// SPDX-License-Identifier: MIT
// ct3d_execute() on a CUDA device as the header promises it: captured, from many threads, beside its plan's end, on
// tensors of any alignment. Every kernel that takes a problem does each; the CPU says what is right.
#include "cuda_driver.hpp"
#include "device_memory.hpp"
#include "dtype.hpp"
#include "runner.hpp"
#include "support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using ct3d::engine::DeviceMemory;
using ct3d::engine::Place;
using ct3d::engine::Plan;

constexpr Place first_device{CT3D_BACKEND_CUDA, 0};
constexpr size_t callers = 8;
// CT3D_TEST_FEW is set where a device is stood in for, which takes its time.
const bool few = std::getenv("CT3D_TEST_FEW");

const int repeats = few ? 2 : 5; // of one execute

using Handle = void *;

Handle find(const char *name) {
    static const Handle driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver ? dlsym(driver, name) : nullptr;
}

template <class... Parameters> void call(const char *name, Parameters... parameters) {
    const auto function = reinterpret_cast<int (*)(Parameters...)>(find(name));
    if (!function)
        fail_msg("the driver has no %s", name);
    if (const int result = function(parameters...))
        fail_msg("%s: error %d", name, result);
}

// Whether the driver has all of them; says which one is missing.
bool have(std::initializer_list<const char *> names) {
    for (const char *name : names)
        if (!find(name)) {
            print_message("skipped: the driver has no %s\n", name);
            return false;
        }
    return true;
}

bool have_graphs() {
    return have({"cuStreamCreate", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
                 "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy"});
}

struct Stream {
    Handle handle = nullptr;

    Stream() {
        constexpr unsigned non_blocking = 1;
        call("cuStreamCreate", &handle, non_blocking);
    }
    ~Stream() { call("cuStreamDestroy_v2", handle); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void wait() const { call("cuStreamSynchronize", handle); }
};

// What `record` puts on a stream, as a graph.
struct Graph {
    Handle graph = nullptr, executable = nullptr;

    Graph(const Stream &stream, const std::function<void()> &record) {
        constexpr int global = 0; // refuses calls that must not be made during a capture
        call("cuStreamBeginCapture_v2", stream.handle, global);
        record();
        call("cuStreamEndCapture", stream.handle, &graph);
        call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    }
    ~Graph() {
        call("cuGraphExecDestroy", executable);
        call("cuGraphDestroy", graph);
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
};

ct3d_problem problem(int64_t in_channels, int64_t out_channels, int64_t groups, int64_t kernel, int64_t stride) {
    ct3d_problem p = small_problem();
    p.batch = 3;
    p.in_channels = in_channels;
    p.out_channels = out_channels;
    p.groups = groups;
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = 5 + 2 * axis;
        p.kernel[axis] = kernel;
        p.stride[axis] = stride;
        p.pad_begin[axis] = p.pad_end[axis] = kernel > stride ? 1 : 0;
    }
    return p;
}

// One for each kernel family: multiples of a tile, tails, kernel = stride, depthwise, few channels of a group, one
// output channel.
const ct3d_problem problems[] = {problem(64, 32, 1, 3, 2),  problem(19, 21, 1, 3, 2), problem(32, 16, 1, 2, 2),
                                 problem(24, 24, 24, 4, 2), problem(16, 16, 2, 3, 2), problem(16, 1, 1, 4, 2)};

uint64_t bytes_of(const ct3d_problem &p, int64_t count) { return static_cast<uint64_t>(count) * element_size(p.dtype); }

// A plan with its inputs on the device, one of them `spoilt` where that is not finite, and the right result.
class Run {
public:
    Run(const ct3d_problem &p, const std::string &kernel, Place place = first_device, uint64_t offset = 0,
        double spoilt = 0)
        : problem_(p), place_(place), offset_(offset) {
        ct3d_status status;
        plan = ct3d::engine::make_plan(p, {place, kernel, 0}, status);
        assert_ok(status);
        uint64_t random = 7;
        std::vector<uint8_t> x = tensor(x_count(&p), random), w = tensor(w_count(&p), random),
                             bias = tensor(p.out_channels, random);
        if (!std::isfinite(spoilt))
            store(x.data(), p.dtype, x_count(&p) / 2, spoilt);
        x_ = upload(x);
        w_ = upload(w);
        bias_ = upload(bias);
        compute_on_cpu(x, w, bias);
    }

    uint64_t y_bytes() const { return bytes_of(problem_, y_count(&problem_)); }
    uint64_t workspace_bytes() const { return ct3d::engine::workspace_size(plan.get()); }
    const Place &place() const { return place_; }

    // Poisoned: nothing that was not written is right.
    DeviceMemory output() const {
        const std::vector<uint8_t> poison(y_bytes() + offset_, 0xff);
        DeviceMemory y(place_, poison.size());
        assert_ok(ct3d_copy(place_.backend, place_.device, y.address(), poison.data(), poison.size()));
        return y;
    }

    ct3d_buffers buffers(const DeviceMemory &y, const DeviceMemory &workspace, Handle stream) const {
        ct3d_buffers b;
        ct3d_buffers_init(&b, sizeof b);
        b.x = x_.as<uint8_t>() + offset_;
        b.w = w_.as<uint8_t>() + offset_;
        b.bias = bias_.as<uint8_t>() + offset_;
        b.y = y.as<uint8_t>() + offset_;
        b.workspace = workspace.address();
        b.workspace_size = workspace.bytes();
        b.stream = stream;
        return b;
    }

    std::vector<uint8_t> download(const DeviceMemory &y) const {
        std::vector<uint8_t> host(y_bytes());
        assert_ok(ct3d_copy(place_.backend, place_.device, host.data(), y.as<uint8_t>() + offset_, host.size()));
        return host;
    }

    void expect_right(const std::vector<uint8_t> &y) const {
        const double tolerance = problem_.dtype == CT3D_BF16 ? 0.05 : problem_.dtype == CT3D_F16 ? 0.01 : 1e-4;
        for (int64_t i = 0; i < y_count(&problem_); ++i) {
            const double got = load(y.data(), problem_.dtype, i), expected = load(right_.data(), problem_.dtype, i);
            if (!(std::abs(got - expected) <= tolerance * (1 + std::abs(expected))))
                fail_msg("y[%lld] is %g, expected %g", static_cast<long long>(i), got, expected);
        }
    }

    // What reaches which outputs is tested on the CPU against the definition.
    void expect_finite_where_right(const std::vector<uint8_t> &y) const {
        for (int64_t i = 0; i < y_count(&problem_); ++i) {
            const double got = load(y.data(), problem_.dtype, i), expected = load(right_.data(), problem_.dtype, i);
            if (std::isfinite(got) != std::isfinite(expected))
                fail_msg("y[%lld] is %g, expected %g", static_cast<long long>(i), got, expected);
        }
    }

    Plan plan;

private:
    std::vector<uint8_t> tensor(int64_t count, uint64_t &random) const {
        std::vector<uint8_t> values(bytes_of(problem_, count));
        for (int64_t i = 0; i < count; ++i)
            store(values.data(), problem_.dtype, i, next_uniform(&random));
        return values;
    }

    DeviceMemory upload(const std::vector<uint8_t> &values) const {
        DeviceMemory memory(place_, values.size() + offset_);
        assert_ok(
            ct3d_copy(place_.backend, place_.device, memory.as<uint8_t>() + offset_, values.data(), values.size()));
        return memory;
    }

    void compute_on_cpu(const std::vector<uint8_t> &x, const std::vector<uint8_t> &w,
                        const std::vector<uint8_t> &bias) {
        ct3d_plan *cpu = new_plan(&problem_, "direct", 1);
        right_.resize(y_bytes());
        ct3d_buffers b;
        ct3d_buffers_init(&b, sizeof b);
        b.x = x.data();
        b.w = w.data();
        b.bias = bias.data();
        b.y = right_.data();
        assert_ok(run_plan(cpu, b));
        ct3d_destroy_plan(&cpu);
    }

    ct3d_problem problem_;
    Place place_;
    uint64_t offset_;
    DeviceMemory x_, w_, bias_;
    std::vector<uint8_t> right_;
};

// Calls body with each problem, in each type (or two) and layout, and each kernel that takes it.
void for_each_run(const std::function<void(const ct3d_problem &, const std::string &)> &body) {
    for (ct3d_problem p : problems)
        for (const int32_t dtype : few ? std::vector<int32_t>{CT3D_F32, CT3D_F16}
                                       : std::vector<int32_t>{CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64})
            for (const int32_t layout : {CT3D_NCDHW, CT3D_NDHWC}) {
                p.dtype = dtype;
                p.layout = layout;
                for (const std::string &kernel : ct3d::engine::kernel_names(p, first_device))
                    body(p, kernel);
            }
}

void first_use_is_captured_and_the_graph_outlives_the_plan(void **) {
    if (!have_graphs())
        return;
    const ct3d::engine::CudaDevice current(0);
    for_each_run([](const ct3d_problem &p, const std::string &kernel) {
        Run run(p, kernel);
        const Stream stream;
        const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
        const ct3d_buffers b = run.buffers(y, workspace, stream.handle);
        const Graph graph(stream, [&] { assert_ok(ct3d_execute(run.plan.get(), &b)); });
        run.plan.reset();
        for (int i = 0; i < 2; ++i)
            call("cuGraphLaunch", graph.executable, stream.handle);
        stream.wait();
        run.expect_right(run.download(y));
    });
}

void two_plans_share_a_workspace_in_one_graph(void **) {
    if (!have_graphs())
        return;
    const ct3d::engine::CudaDevice current(0);
    for (const int32_t dtype : {CT3D_F32, CT3D_F16}) {
        ct3d_problem one = problems[0], other = problems[2];
        one.dtype = other.dtype = dtype;
        const Run first(one, ""), second(other, "");
        const Stream stream;
        const DeviceMemory y1 = first.output(), y2 = second.output();
        const DeviceMemory workspace(first_device, std::max(first.workspace_bytes(), second.workspace_bytes()));
        const ct3d_buffers b1 = first.buffers(y1, workspace, stream.handle);
        const ct3d_buffers b2 = second.buffers(y2, workspace, stream.handle);
        const Graph graph(stream, [&] {
            for (int i = 0; i < 2; ++i) {
                assert_ok(ct3d_execute(first.plan.get(), &b1));
                assert_ok(ct3d_execute(second.plan.get(), &b2));
            }
        });
        call("cuGraphLaunch", graph.executable, stream.handle);
        stream.wait();
        first.expect_right(first.download(y1));
        second.expect_right(second.download(y2));
    }
}

void plan_may_end_while_its_work_is_in_flight(void **) {
    const ct3d::engine::CudaDevice current(0);
    for_each_run([](const ct3d_problem &p, const std::string &kernel) {
        Run run(p, kernel);
        const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
        const ct3d_buffers b = run.buffers(y, workspace, nullptr);
        for (int i = 0; i < repeats; ++i)
            assert_ok(ct3d_execute(run.plan.get(), &b));
        run.plan.reset();
        assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
        run.expect_right(run.download(y));
    });
}

void repeated_runs_are_bit_equal(void **) {
    for_each_run([](const ct3d_problem &p, const std::string &kernel) {
        const Run run(p, kernel);
        const DeviceMemory workspace(run.place(), run.workspace_bytes());
        std::vector<uint8_t> first;
        for (int i = 0; i < repeats; ++i) {
            const DeviceMemory y = run.output();
            const ct3d_buffers b = run.buffers(y, workspace, nullptr);
            assert_ok(ct3d_execute(run.plan.get(), &b));
            assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
            const std::vector<uint8_t> result = run.download(y);
            if (i == 0)
                run.expect_right(first = result);
            assert_memory_equal(first.data(), result.data(), first.size());
        }
    });
}

// An infinity, since it shows products with a weight of zero too.
void nonfinite_inputs_reach_their_outputs_only(void **) {
    for_each_run([](const ct3d_problem &p, const std::string &kernel) {
        const Run run(p, kernel, first_device, 0, HUGE_VAL);
        const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
        const ct3d_buffers b = run.buffers(y, workspace, nullptr);
        assert_ok(ct3d_execute(run.plan.get(), &b));
        assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
        run.expect_finite_where_right(run.download(y));
    });
}

void tensors_may_lie_one_element_off(void **) {
    for_each_run([](const ct3d_problem &p, const std::string &kernel) {
        const Run run(p, kernel, first_device, element_size(p.dtype));
        const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
        const ct3d_buffers b = run.buffers(y, workspace, nullptr);
        assert_ok(ct3d_execute(run.plan.get(), &b));
        assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
        run.expect_right(run.download(y));
    });
}

void eight_threads_use_one_plan_on_eight_streams(void **) {
    if (!have({"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize"}))
        return;
    const ct3d::engine::CudaDevice current(0);
    for (const ct3d_problem &p : problems) {
        const Run run(p, "");
        const std::vector<Stream> streams(callers);
        std::vector<DeviceMemory> outputs, workspaces;
        std::vector<ct3d_status> statuses(callers, CT3D_INTERNAL);
        std::vector<std::thread> threads;
        for (size_t i = 0; i < callers; ++i) {
            outputs.push_back(run.output());
            workspaces.emplace_back(run.place(), run.workspace_bytes());
        }
        for (size_t i = 0; i < callers; ++i)
            threads.emplace_back([&, i] { // no assertion here, cmocka is not for threads
                const ct3d_buffers b = run.buffers(outputs[i], workspaces[i], streams[i].handle);
                for (int again = 0; again < repeats; ++again)
                    if ((statuses[i] = ct3d_execute(run.plan.get(), &b)) != CT3D_SUCCESS)
                        break;
            });
        for (std::thread &thread : threads)
            thread.join();
        for (size_t i = 0; i < callers; ++i) {
            assert_int_equal(statuses[i], CT3D_SUCCESS);
            streams[i].wait();
            run.expect_right(run.download(outputs[i]));
        }
    }
}

void callers_context_stays_current(void **) {
    if (!have({"cuCtxGetCurrent"}))
        return;
    const auto current = [] {
        Handle context = nullptr;
        call("cuCtxGetCurrent", &context);
        return context;
    };
    const Handle before = current();
    const Run run(problems[0], "");
    const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
    const ct3d_buffers b = run.buffers(y, workspace, nullptr);
    assert_ok(ct3d_execute(run.plan.get(), &b));
    assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
    assert_ptr_equal(before, current());
    const ct3d::engine::CudaDevice own(0);
    const Handle inside = current();
    assert_ok(ct3d_execute(run.plan.get(), &b));
    assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, 0));
    assert_ptr_equal(inside, current());
}

int device_count(std::string &reason) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    assert_ok(ct3d_get_backend_info(CT3D_BACKEND_CUDA, &info));
    reason = info.reason;
    return info.device_count;
}

void other_devices_work_too(void **) {
    std::string reason;
    const int count = device_count(reason);
    if (count == 1)
        print_message("skipped: there is one device only\n");
    for (int device = 1; device < count; ++device) {
        const ct3d::engine::CudaDevice current(0); // not the plan's
        for (const ct3d_problem &p : problems) {
            const Run run(p, "", {CT3D_BACKEND_CUDA, device});
            const DeviceMemory y = run.output(), workspace(run.place(), run.workspace_bytes());
            const ct3d_buffers b = run.buffers(y, workspace, nullptr);
            assert_ok(ct3d_execute(run.plan.get(), &b));
            assert_ok(ct3d_synchronize(CT3D_BACKEND_CUDA, device));
            run.expect_right(run.download(y));
        }
    }
}

// Hardly one in two hundred elements of it is among the samples: the others are compared on the device.
void wrong_element_of_a_large_output_is_caught(void **) {
    if (find("standin_observe")) // the stand-in driver would take minutes
        return;
    constexpr int64_t at = 1234567;
    for (const char *keys : {"", " layout=ndhwc", " dtype=f16", " dtype=bf16 layout=ndhwc", " dtype=f64", " math=tf32"})
        for (const char *fill : {" fill=symmetric", " fill=exact", " fill=positive"}) {
            const std::string line = std::string("large 1 64 64 32 3 1 1 0 1 1") + keys + fill;
            const ct3d::engine::Case c = ct3d::engine::parse_line(line);
            ct3d::engine::RunOptions options;
            options.plan.place = first_device;
            const ct3d::engine::Result sound = ct3d::engine::run(c, options);
            if (sound.status != ct3d::engine::Status::passed || sound.sampled)
                fail_msg("\"%s\" %s: %s", line.c_str(), ct3d::engine::name(sound.status), sound.reason.c_str());
            assert_int_equal(sound.checked, y_count(&c.problem));
            options.execute = [&](const ct3d_plan *plan, const ct3d_buffers *b) {
                const ct3d_status status = ct3d_execute(plan, b);
                const size_t size = element_size(c.problem.dtype);
                std::vector<uint8_t> wrong(size);
                store(wrong.data(), c.problem.dtype, 0, 0.3);
                void *const element = static_cast<uint8_t *>(b->y) + at * static_cast<int64_t>(size);
                assert_ok(ct3d_copy(CT3D_BACKEND_CUDA, 0, element, wrong.data(), size));
                return status;
            };
            const ct3d::engine::Result broken = ct3d::engine::run(c, options);
            if (broken.status != ct3d::engine::Status::failed || broken.wrong != 1)
                fail_msg("\"%s\" %s: %s", line.c_str(), ct3d::engine::name(broken.status), broken.reason.c_str());
        }
}

} // namespace

int main() {
    std::string reason;
    if (device_count(reason) == 0) {
        print_message("skipped: no CUDA device: %s\n", reason.c_str());
        return 77;
    }
    const CMUnitTest tests[] = {
        cmocka_unit_test(first_use_is_captured_and_the_graph_outlives_the_plan),
        cmocka_unit_test(two_plans_share_a_workspace_in_one_graph),
        cmocka_unit_test(plan_may_end_while_its_work_is_in_flight),
        cmocka_unit_test(repeated_runs_are_bit_equal),
        cmocka_unit_test(nonfinite_inputs_reach_their_outputs_only),
        cmocka_unit_test(tensors_may_lie_one_element_off),
        cmocka_unit_test(eight_threads_use_one_plan_on_eight_streams),
        cmocka_unit_test(callers_context_stays_current),
        cmocka_unit_test(other_devices_work_too),
        cmocka_unit_test(wrong_element_of_a_large_output_is_caught),
    };
    return cmocka_run_group_tests_name("cuda device", tests, nullptr, nullptr);
}
