// SPDX-License-Identifier: MIT
#include "onednn_kernel.hpp"

namespace ct3d::cpu::onednn {

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
