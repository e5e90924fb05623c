// SPDX-License-Identifier: MIT
// What the kernels of oneDNN have in common: when they may run, and what they say where they may not.
#pragma once

#include "direct.hpp"
#include "onednn_primitive.hpp"

namespace ct3d::cpu::onednn {

class OnednnKernel : public Kernel {
public:
    explicit OnednnKernel(const PlanContext &context)
        : threads_(context.threads), direct_(direct_candidate.consider(context).prepare()) {}

    void execute(const ct3d_buffers &) const final;

protected:
    virtual void run(const ct3d_buffers &, dnnl::stream &) const = 0;

    const int32_t threads_;
    const std::unique_ptr<const Kernel> direct_; // runs where oneDNN cannot
};

// Why no kernel of oneDNN can take a problem; empty if one might.
std::string common_refusal(const Desc &);

} // namespace ct3d::cpu::onednn
