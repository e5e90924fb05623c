// SPDX-License-Identifier: MIT
#include "onednn_tensor.hpp"

namespace ct3d::cpu::onednn {

DataType data_type(Dtype type) { return type == Dtype::bf16 ? DataType::bf16 : DataType::f32; }

Activation::Activation(const Blocked &caller_shape, Dtype caller_type, const Blocked &image_shape, Dtype image_type,
                       const MemoryDesc &image, Workspace &workspace)
    : caller_shape_(caller_shape), image_shape_(image_shape), caller_type_(caller_type), image_type_(image_type),
      same_(caller_type == image_type && caller_shape.block == image_shape.block), image_bytes_(image.get_size()) {
    if (!same_)
        offset_ = workspace.add(image_bytes_);
}

void *Activation::read(int32_t threads, const void *tensor, char *workspace) const {
    if (same_)
        return const_cast<void *>(tensor);
    move(threads, tensor, caller_type_, caller_shape_, workspace + offset_, image_type_, image_shape_, nullptr);
    return workspace + offset_;
}

void Activation::write(int32_t threads, void *tensor, char *workspace, const void *bias) const {
    if (!same_ || bias)
        move(threads, target(tensor, workspace), image_type_, image_shape_, tensor, caller_type_, caller_shape_, bias);
}

double Activation::bytes_moved(bool with_bias) const {
    const int64_t elements = caller_shape_.batch * caller_shape_.channels * caller_shape_.positions;
    const double caller_bytes = static_cast<double>(elements) * static_cast<double>(element_size(caller_type_));
    return same_ && !with_bias ? 0 : caller_bytes + static_cast<double>(image_bytes_);
}

int64_t block_in(const MemoryDesc &desc, const Dims &dims, DataType type) {
    struct Known {
        Tag tag;
        int64_t block;
    };
    const Known known[] = {
        {Tag::ncdhw, 1}, {Tag::ndhwc, dims[1]}, {Tag::nCdhw16c, 16}, {Tag::nCdhw8c, 8}, {Tag::nCdhw4c, 4}};
    for (const Known &k : known)
        if (desc == MemoryDesc(dims, type, k.tag))
            return k.block;
    return 0;
}

std::string name_of(const Blocked &shape) {
    if (shape.block == 1)
        return "ncdhw";
    return shape.block == shape.channels ? "ndhwc" : "nCdhw" + std::to_string(shape.block) + "c";
}

Weights::Weights(int64_t elements, Dtype caller_type, const MemoryDesc &caller, Dtype image_type,
                 const MemoryDesc &image, bool written, Workspace &workspace)
    : elements_(elements), caller_type_(caller_type), image_type_(image_type),
      reorder_(written ? Reorder(image, caller) : Reorder(caller, image)) {
    if (converts())
        staged_ = workspace.add(caller.get_size());
    if (reorder_)
        packed_ = workspace.add(image.get_size());
}

void *Weights::read(int32_t threads, dnnl::stream &stream, const void *w, char *workspace, void *scratchpad) const {
    void *staged = const_cast<void *>(w);
    if (converts()) {
        staged = workspace + staged_;
        convert(threads, w, caller_type_, staged, image_type_, elements_);
    }
    if (!reorder_)
        return staged;
    reorder_.run(stream, staged, workspace + packed_, scratchpad);
    return workspace + packed_;
}

void *Weights::target(void *w, char *workspace) const {
    return reorder_ ? workspace + packed_ : converts() ? workspace + staged_ : w;
}

void Weights::write(int32_t threads, dnnl::stream &stream, void *w, char *workspace, void *scratchpad) const {
    void *staged = converts() ? workspace + staged_ : w;
    if (reorder_) {
        reorder_.run(stream, workspace + packed_, staged, scratchpad);
        stream.wait();
    }
    if (converts())
        convert(threads, staged, image_type_, w, caller_type_, elements_);
}

Dims weight_dims(const Desc &desc) {
    Dims dims{desc.out_channels_per_group(), desc.in_channels_per_group()};
    dims.insert(dims.end(), desc.kernel.begin(), desc.kernel.end());
    if (desc.groups > 1)
        dims.insert(dims.begin(), desc.groups);
    return dims;
}

MemoryDesc weights_of(const Desc &desc, DataType type) {
    const WeightStrides s = weight_strides(desc);
    Dims strides{s.co, s.ci, s.z, s.y, s.x};
    if (desc.groups > 1)
        strides.insert(strides.begin(), desc.in_channels_per_group() * s.ci);
    return {weight_dims(desc), type, strides};
}

} // namespace ct3d::cpu::onednn
