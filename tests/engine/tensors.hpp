// SPDX-License-Identifier: MIT
// The tensors and the workspace of one run, filled, poisoned and guarded.
#pragma once

#include "case.hpp"
#include "fills.hpp"
#include "guarded.hpp"
#include "reference.hpp"

#include <array>
#include <memory>
#include <string>

namespace ct3d::engine {

class Tensors {
public:
    // Where the inputs are filled; those that a device has filled do not exist on the host.
    enum class Filled { on_host, on_device };

    // Inputs hold the fill, outputs and workspace a NaN in every element.
    Tensors(const Case &, Place, uint64_t seed, uint64_t workspace, Filled = Filled::on_host);

    ct3d_buffers buffers() const;
    Inputs inputs() const;                      // on the host
    const void *output() const;                 // y, dx or dw, on the host after download()
    const void *bias_gradient() const;          // null if none was asked for
    double largest() const { return largest_; } // max(1, max abs first operand, max abs second operand)

    void download();            // the outputs
    std::string broken() const; // the buffer whose guard band was written; empty if none

private:
    struct Slot {
        const char *name;
        std::unique_ptr<Guarded> buffer;

        void *device() const { return buffer ? buffer->device() : nullptr; }
        void *host() const { return buffer ? buffer->host() : nullptr; }
    };

    void add_input(Slot &, const Case &, uint64_t seed, Operand, Role);
    void add_output(Slot &, const Case &, Role);
    std::array<const Slot *, 9> slots() const;

    Place place_;
    Filled filled_;
    double largest_ = 1;
    Slot x_{"x", nullptr}, w_{"w", nullptr}, bias_{"bias", nullptr}, y_{"y", nullptr};
    Slot dy_{"dy", nullptr}, dx_{"dx", nullptr}, dw_{"dw", nullptr}, dbias_{"dbias", nullptr};
    Slot workspace_{"workspace", nullptr};
};

} // namespace ct3d::engine
