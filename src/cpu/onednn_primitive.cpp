// SPDX-License-Identifier: MIT
#include "onednn_primitive.hpp"

namespace ct3d::cpu::onednn {

const dnnl::engine &engine() {
    // Never destroyed, so that plans may outlive the library's other objects at exit.
    static const dnnl::engine &instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return instance;
}

dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
    return attr;
}

void rethrow(const dnnl::error &error) {
    // The front end has checked the problem: what oneDNN calls invalid is a shape that it does not take.
    const bool refused = error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments;
    const ct3d_status status = refused                              ? CT3D_UNSUPPORTED
                               : error.status == dnnl_out_of_memory ? CT3D_OUT_OF_MEMORY
                                                                    : CT3D_INTERNAL;
    throw Error(status, "oneDNN: %s", error.what());
}

// oneDNN's kernels wait for as many threads as they were made for, so that OpenMP must not give them fewer.
ThreadScope::ThreadScope(int32_t threads) : saved_threads_(omp_get_max_threads()), saved_dynamic_(omp_get_dynamic()) {
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
}

ThreadScope::~ThreadScope() {
    omp_set_num_threads(saved_threads_);
    omp_set_dynamic(saved_dynamic_);
}

bool can_run(int32_t threads) {
    return threads == 1 || !(forked() || omp_in_parallel() || omp_get_thread_limit() < threads);
}

Reorder::Reorder(const MemoryDesc &from_desc, const MemoryDesc &to_desc) : from(from_desc), to(to_desc) {
    if (from == to)
        return;
    const dnnl::reorder::primitive_desc desc(engine(), from, engine(), to, attributes());
    scratchpad = desc.scratchpad_desc();
    primitive = dnnl::reorder(desc);
}

void Reorder::run(dnnl::stream &stream, void *source, void *target, void *scratch) const {
    primitive.execute(stream, {{DNNL_ARG_FROM, memory_at(from, source)},
                               {DNNL_ARG_TO, memory_at(to, target)},
                               {DNNL_ARG_SCRATCHPAD, memory_at(scratchpad, scratch)}});
}

} // namespace ct3d::cpu::onednn
