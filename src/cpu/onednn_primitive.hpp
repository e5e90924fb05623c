// SPDX-License-Identifier: MIT
// oneDNN's primitives as the kernels use them: versions 2 and 3 behind one face, scratchpads from the caller,
// threads as planned, errors translated.
#pragma once

#include "parallel.hpp"
#include "workspace.hpp"

#include "../status.hpp"

#include <dnnl.hpp>

#include <optional>
#include <string>

namespace ct3d::cpu::onednn {

// Threads are set through OpenMP, which a oneDNN built for TBB or SYCL would not heed.
static_assert(DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP,
              "this oneDNN does not run on OpenMP: configure with -Donednn=disabled");

using MemoryDesc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

const dnnl::engine &engine();

// Scratchpads from the caller, and f32 that stays f32 whatever the environment says.
dnnl::primitive_attr attributes();

[[noreturn]] void rethrow(const dnnl::error &);

template <class Body> auto translated(Body &&body) {
    try {
        return body();
    } catch (const dnnl::error &error) {
        rethrow(error);
    }
}

// oneDNN takes the number of threads from OpenMP, both when a primitive is made and when it runs.
class ThreadScope {
public:
    explicit ThreadScope(int32_t threads);
    ~ThreadScope();
    ThreadScope(const ThreadScope &) = delete;
    ThreadScope &operator=(const ThreadScope &) = delete;

private:
    const int saved_threads_, saved_dynamic_;
};

// Whether a primitive made for so many threads gets them now. Where it does not, it may hang or leave work undone.
bool can_run(int32_t threads);

struct NoHint {};

// The one place where versions 2 and 3 differ: a primitive described from the arguments of version 2's
// Primitive::desc, and for a gradient from the description of the forward primitive as a hint. In version 2
// next_impl() still reads that desc.
#if DNNL_VERSION_MAJOR >= 3
template <class Primitive> struct Description {
    template <class... Args> Description(NoHint, const Args &...args) : primitive(engine(), args..., attributes()) {}
    template <class Hint, class... Args> Description(const Hint &hint, const Args &...args)
        : primitive(engine(), args..., hint, attributes()) {}

    typename Primitive::primitive_desc primitive;
};
#else
template <class Primitive> struct Description {
    template <class... Args> Description(NoHint, const Args &...args)
        : desc(args...), primitive(desc, attributes(), engine()) {}
    template <class Hint, class... Args> Description(const Hint &hint, const Args &...args)
        : desc(args...), primitive(desc, attributes(), engine(), hint) {}

    typename Primitive::desc desc;
    typename Primitive::primitive_desc primitive;
};
#endif

// The first implementation that is not the reference loop, if there is one.
template <class Primitive>
std::optional<typename Primitive::primitive_desc> without_reference(Description<Primitive> description) {
    while (std::string(description.primitive.impl_info_str()).find("ref") != std::string::npos)
        if (!description.primitive.next_impl())
            return std::nullopt;
    return description.primitive;
}

// A copy between two formats of one tensor; nothing where they are the same.
struct Reorder {
    Reorder() = default;
    Reorder(const MemoryDesc &from, const MemoryDesc &to);

    explicit operator bool() const { return static_cast<bool>(primitive); }
    void run(dnnl::stream &, void *from, void *to, void *scratchpad) const;

    MemoryDesc from, to, scratchpad;
    dnnl::primitive primitive;
};

inline dnnl::memory memory_at(const MemoryDesc &desc, void *address) { return {desc, engine(), address}; }

// Hands out a workspace from its start, as offsets.
class Workspace {
public:
    uint64_t add(uint64_t bytes) {
        const uint64_t offset = size_;
        size_ += aligned_size(bytes);
        return offset;
    }
    uint64_t size() const { return size_; }

private:
    uint64_t size_ = 0;
};

} // namespace ct3d::cpu::onednn
