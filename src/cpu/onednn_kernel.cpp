// SPDX-License-Identifier: MIT
#include "onednn_kernel.hpp"

#include <algorithm>

namespace ct3d::cpu::onednn {

std::string common_refusal(const Desc &d) {
    if (d.dtype == Dtype::f64)
        return "oneDNN has no f64";
    // oneDNN multiplies these in 32 and 64 bits, unchecked, and makes code in proportion to a kernel.
    constexpr int64_t most_extent = 1 << 18, most_taps = 1 << 12;
    int64_t extent = std::max({d.batch, d.in_channels, d.out_channels});
    for (const Extents *e : {&d.in, &d.out, &d.stride, &d.dilation, &d.pad_begin, &d.pad_end})
        extent = std::max(extent, *std::max_element(e->begin(), e->end()));
    const int64_t taps = *std::max_element(d.kernel.begin(), d.kernel.end());
    if (extent > most_extent || taps > most_taps || total_elements(d) > 0x1p40)
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
