// SPDX-License-Identifier: MIT
#include "onednn_kernel.hpp"

#include <algorithm>

namespace ct3d::cpu::onednn {

std::string common_refusal(const Desc &d) {
    if (d.dtype == Dtype::f64)
        return "oneDNN has no f64";
    int64_t most = std::max({d.batch, d.in_channels, d.out_channels});
    for (const Extents *e : {&d.in, &d.out, &d.kernel, &d.stride, &d.dilation, &d.pad_begin, &d.pad_end})
        most = std::max(most, *std::max_element(e->begin(), e->end()));
    // oneDNN multiplies them in 32 and 64 bits, unchecked.
    if (most > INT32_MAX || total_elements(d) > 0x1p40)
        return "extents are too large for oneDNN";
    return {};
}

void OnednnKernel::execute(const ct3d_buffers &buffers) const {
    if (!can_run(threads_)) {
        direct_->execute(buffers);
        return;
    }
    const ThreadScope scope(threads_);
    translated([&] {
        dnnl::stream stream(engine());
        run(buffers, stream);
    });
}

} // namespace ct3d::cpu::onednn
