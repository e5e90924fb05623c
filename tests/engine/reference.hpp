// SPDX-License-Identifier: MIT
// The value that each output element ought to have, from the definition i*S - P + k*L = o, in f64 or better.
#pragma once

#include "bounds.hpp"
#include "fills.hpp"
#include "geometry.hpp"

#include <memory>

namespace ct3d::engine {

// Types wider than the sums of f32; for f64 tensors the sums are taken in long double.
using Exact = ExactValue<long double>;

// The tensors that an op reads, in host memory, in the problem's layouts; absent ones are null.
struct Inputs {
    const void *x = nullptr;
    const void *w = nullptr;
    const void *bias = nullptr;
    const void *dy = nullptr;
};

class Reference {
public:
    // With `packed`, the inputs are first copied to f64 in the order in which they are read: faster for many elements.
    Reference(const ct3d_problem &, const Inputs &, bool packed);
    // Of inputs that stand in no host memory: each value is made when it is read.
    Reference(const Case &, uint64_t seed);
    ~Reference();
    Reference(Reference &&) noexcept;

    // An element of y, dx or dw, whichever the op writes. Safe to call from several threads.
    Exact at(const Index &) const;
    // An element of dbias.
    Exact bias_gradient(int64_t channel) const;

    class Sums;

private:
    std::unique_ptr<Sums> sums_;
};

// Bytes that Reference allocates.
double reference_bytes(const ct3d_problem &, bool packed);

// What the op's main output is: y, dx (shaped as x) or dw (shaped as w).
Role output_role(const ct3d_problem &);

} // namespace ct3d::engine
