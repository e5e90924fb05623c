// SPDX-License-Identifier: MIT
// A tensor of the caller's and its image in the format of a primitive: where the image lies, and how one becomes the
// other. The image is the caller's own memory where both are the same, and in the workspace otherwise.
#pragma once

#include "onednn_layout.hpp"
#include "onednn_primitive.hpp"

namespace ct3d::cpu::onednn {

DataType data_type(Dtype); // f32 or bf16

class Activation {
public:
    // `image` has the layout of `image_shape`.
    Activation(const Blocked &caller_shape, Dtype caller_type, const Blocked &image_shape, Dtype image_type,
               const MemoryDesc &image, Workspace &);

    void *read(int32_t threads, const void *tensor, char *workspace) const;
    // Where the image of a tensor to be written is, and how it then gets there, with bias[c] (or null) added.
    void *target(void *tensor, char *workspace) const { return same_ ? tensor : workspace + offset_; }
    void write(int32_t threads, void *tensor, char *workspace, const void *bias) const;

    const Blocked &caller_shape() const { return caller_shape_; }
    const Blocked &image_shape() const { return image_shape_; }
    double bytes_moved(bool with_bias) const;

private:
    Blocked caller_shape_, image_shape_;
    Dtype caller_type_, image_type_;
    bool same_;
    uint64_t offset_ = 0;
    uint64_t image_bytes_;
};

// The channel block with which a tensor of `type` has the layout of `desc`; 0 if no block does.
int64_t block_in(const MemoryDesc &desc, const Dims &, DataType type);

// "ncdhw", "ndhwc", "nCdhw16c".
std::string name_of(const Blocked &);

class Weights {
public:
    // `caller` and `image` have the type `image_type`, to which the caller's w is converted where it has another.
    // `written` says that the image is made by a primitive and goes to the caller, not the other way.
    Weights(int64_t elements, Dtype caller_type, const MemoryDesc &caller, Dtype image_type, const MemoryDesc &image,
            bool written, Workspace &);

    uint64_t scratchpad_bytes() const { return reorder_.scratchpad.get_size(); }
    void *read(int32_t threads, dnnl::stream &, const void *w, char *workspace, void *scratchpad) const;
    void *target(void *w, char *workspace) const;
    void write(int32_t threads, dnnl::stream &, void *w, char *workspace, void *scratchpad) const;

private:
    bool converts() const { return caller_type_ != image_type_; }

    int64_t elements_;
    Dtype caller_type_, image_type_;
    Reorder reorder_; // between the staged and the packed
    uint64_t staged_ = 0, packed_ = 0;
};

// The caller's w as oneDNN names its dimensions: (group,) output channel, input channel, kernel.
MemoryDesc weights_of(const Desc &, DataType);
Dims weight_dims(const Desc &);

} // namespace ct3d::cpu::onednn
