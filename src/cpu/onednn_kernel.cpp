// SPDX-License-Identifier: MIT
#include "onednn_kernel.hpp"

#include <algorithm>
#include <new>

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
    // Nor can its 32-bit offsets be trusted past 2 GiB.
    if (std::max({d.x_elements(), d.y_elements(), d.w_elements()}) > (INT32_MAX / 4))
        return "a tensor is larger than 2 GiB as f32, too large for oneDNN";
    return {};
}

void OnednnKernel::execute(const ct3d_buffers &buffers) const {
    if (can_run(threads_)) {
        try {
            const ThreadScope scope(threads_);
            dnnl::stream stream(engine());
            run(buffers, stream);
            return;
        } catch (const dnnl::error &) {
        } catch (const std::bad_alloc &) {
        }
        // oneDNN allocates as it runs. Where that fails, outputs may be half written: what needs no memory writes all.
    }
    direct_->execute(buffers);
}

} // namespace ct3d::cpu::onednn
