// SPDX-License-Identifier: MIT
// The raw oneDNN deconvolution primitive.
#include "peer.hpp"

#include "geometry.hpp"

#include <dnnl.hpp>

#include <memory>
#include <stdexcept>

namespace ct3d::engine {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto algorithm = dnnl::algorithm::deconvolution_direct;

memory::data_type data_type(int32_t dtype) {
    switch (dtype) {
    case CT3D_F32:
        return memory::data_type::f32;
    case CT3D_F16:
        return memory::data_type::f16;
    case CT3D_BF16:
        return memory::data_type::bf16;
    default:
        throw std::runtime_error("oneDNN has no deconvolution of f64");
    }
}

memory::dims dims(const Index &index) { return {index.begin(), index.end()}; }

// Bias, or what stands for it where there is none.
memory::desc no_bias() { return {}; }

// Everything that describes the primitive, in the user's layouts and in those of one format.
struct Problem {
    explicit Problem(const ct3d_problem &p, Tag tag);

    memory::desc user_x, user_w, user_y; // as ct3d's tensors lie
    memory::desc x, w, y, bias;          // as the primitive is asked for
    memory::dims stride, dilation, pad_begin, pad_end;
};

// oneDNN's weights are (g,) out, in, d, h, w.
void describe_weights(Problem &d, const ct3d_problem &p, memory::data_type type) {
    const Index shape = engine::shape(p, Role::w), step = strides(p, Role::w);
    memory::dims extent{shape[1], shape[0] / p.groups, shape[2], shape[3], shape[4]};
    memory::dims stride{step[1], step[0], step[2], step[3], step[4]};
    if (p.groups > 1) {
        extent.insert(extent.begin(), p.groups);
        stride.insert(stride.begin(), shape[0] / p.groups * step[0]);
    }
    d.user_w = memory::desc(extent, type, stride);
    d.w = memory::desc(extent, type, Tag::any);
}

Problem::Problem(const ct3d_problem &p, Tag tag) {
    const memory::data_type type = data_type(p.dtype);
    const memory::dims x_dims = dims(shape(p, Role::x)), y_dims = dims(shape(p, Role::y));
    user_x = memory::desc(x_dims, type, dims(strides(p, Role::x)));
    user_y = memory::desc(y_dims, type, dims(strides(p, Role::y)));
    x = memory::desc(x_dims, type, tag);
    y = memory::desc(y_dims, type, tag);
    describe_weights(*this, p, type);
    bias = p.has_bias && p.op != CT3D_BACKWARD_DATA ? memory::desc({p.out_channels}, type, Tag::a) : no_bias();
    for (int axis = 0; axis < 3; ++axis) {
        stride.push_back(p.stride[axis]);
        dilation.push_back(p.dilation[axis] - 1);
        pad_begin.push_back(p.pad_begin[axis]);
        pad_end.push_back(p.pad_end[axis] - p.output_padding[axis]);
    }
}

// The one place that knows how versions differ in making primitives.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe_primitive(const dnnl::engine &e, const Arguments &...arguments) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(e, arguments...);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), e);
#endif
}

template <class Primitive, class Hint, class... Arguments> typename Primitive::primitive_desc
describe_gradient(const dnnl::engine &e, const Hint &hint, const Arguments &...arguments) {
#if DNNL_VERSION_MAJOR >= 3
    return typename Primitive::primitive_desc(e, arguments..., hint);
#else
    return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), e, hint);
#endif
}

dnnl::deconvolution_forward::primitive_desc describe_forward(const dnnl::engine &e, const Problem &d,
                                                             dnnl::prop_kind kind) {
    return describe_primitive<dnnl::deconvolution_forward>(e, kind, algorithm, d.x, d.w, d.bias, d.y, d.stride,
                                                           d.dilation, d.pad_begin, d.pad_end);
}

// A tensor in the user's memory, and where the formats differ a copy in the primitive's.
struct Operand {
    int argument;
    bool output;
    memory user, own;
    dnnl::reorder reorder;

    Operand(const dnnl::engine &e, int arg, bool written, const memory::desc &user_desc, void *data,
            const memory::desc &own_desc)
        : argument(arg), output(written), user(user_desc, e, data) {
        if (user_desc == own_desc) {
            own = user;
            return;
        }
        own = memory(own_desc, e);
        reorder = written ? dnnl::reorder(own, user) : dnnl::reorder(user, own);
    }

    void convert(dnnl::stream &stream) {
        if (own.get() == user.get())
            return;
        if (output)
            reorder.execute(stream, own, user);
        else
            reorder.execute(stream, user, own);
    }
};

struct Primitive {
    dnnl::primitive primitive;
    std::vector<Operand> operands;
    dnnl::stream stream;

    void run() {
        std::unordered_map<int, memory> arguments;
        for (Operand &operand : operands) {
            arguments.emplace(operand.argument, operand.own);
            if (!operand.output)
                operand.convert(stream);
        }
        primitive.execute(stream, arguments);
        for (Operand &operand : operands)
            if (operand.output)
                operand.convert(stream);
        stream.wait();
    }
};

void *writable(const void *input) { return const_cast<void *>(input); }

Primitive make_forward(const dnnl::engine &e, const Problem &d, const ct3d_buffers &b) {
    const auto pd = describe_forward(e, d, dnnl::prop_kind::forward_inference);
    Primitive primitive{dnnl::deconvolution_forward(pd), {}, dnnl::stream(e)};
    primitive.operands.emplace_back(e, DNNL_ARG_SRC, false, d.user_x, writable(b.x), pd.src_desc());
    primitive.operands.emplace_back(e, DNNL_ARG_WEIGHTS, false, d.user_w, writable(b.w), pd.weights_desc());
    if (b.bias != nullptr)
        primitive.operands.emplace_back(e, DNNL_ARG_BIAS, false, d.bias, writable(b.bias), d.bias);
    primitive.operands.emplace_back(e, DNNL_ARG_DST, true, d.user_y, b.y, pd.dst_desc());
    return primitive;
}

Primitive make_backward_data(const dnnl::engine &e, const Problem &d, const ct3d_buffers &b) {
    using Backward = dnnl::deconvolution_backward_data;
    const auto pd = describe_gradient<Backward>(e, describe_forward(e, d, dnnl::prop_kind::forward_training), algorithm,
                                                d.x, d.w, d.y, d.stride, d.dilation, d.pad_begin, d.pad_end);
    Primitive primitive{Backward(pd), {}, dnnl::stream(e)};
    primitive.operands.emplace_back(e, DNNL_ARG_DIFF_DST, false, d.user_y, writable(b.dy), pd.diff_dst_desc());
    primitive.operands.emplace_back(e, DNNL_ARG_WEIGHTS, false, d.user_w, writable(b.w), pd.weights_desc());
    primitive.operands.emplace_back(e, DNNL_ARG_DIFF_SRC, true, d.user_x, b.dx, pd.diff_src_desc());
    return primitive;
}

Primitive make_backward_weights(const dnnl::engine &e, const Problem &d, const ct3d_buffers &b) {
    using Backward = dnnl::deconvolution_backward_weights;
    const auto pd = describe_gradient<Backward>(e, describe_forward(e, d, dnnl::prop_kind::forward_training), algorithm,
                                                d.x, d.w, d.bias, d.y, d.stride, d.dilation, d.pad_begin, d.pad_end);
    Primitive primitive{Backward(pd), {}, dnnl::stream(e)};
    primitive.operands.emplace_back(e, DNNL_ARG_SRC, false, d.user_x, writable(b.x), pd.src_desc());
    primitive.operands.emplace_back(e, DNNL_ARG_DIFF_DST, false, d.user_y, writable(b.dy), pd.diff_dst_desc());
    primitive.operands.emplace_back(e, DNNL_ARG_DIFF_WEIGHTS, true, d.user_w, b.dw, pd.diff_weights_desc());
    if (b.dbias != nullptr)
        primitive.operands.emplace_back(e, DNNL_ARG_DIFF_BIAS, true, d.bias, b.dbias, d.bias);
    return primitive;
}

Primitive make_primitive(const dnnl::engine &e, const ct3d_problem &p, const ct3d_buffers &b, Tag tag) {
    const Problem d(p, tag);
    switch (p.op) {
    case CT3D_FORWARD:
        return make_forward(e, d, b);
    case CT3D_BACKWARD_DATA:
        return make_backward_data(e, d, b);
    default:
        return make_backward_weights(e, d, b);
    }
}

} // namespace

bool have_peer() { return true; }

std::vector<Peer> make_peers(const ct3d_problem &p, const ct3d_buffers &b, std::string &reason) {
    const dnnl::engine e(dnnl::engine::kind::cpu, 0);
    const std::pair<const char *, Tag> formats[] = {{"ncdhw", Tag::ncdhw}, {"ndhwc", Tag::ndhwc}, {"any", Tag::any}};
    std::vector<Peer> peers;
    for (const auto &[name, tag] : formats) {
        try {
            auto primitive = std::make_shared<Primitive>(make_primitive(e, p, b, tag));
            peers.push_back({name, [primitive] { primitive->run(); }});
        } catch (const std::exception &error) {
            reason = error.what();
        }
    }
    return peers;
}

} // namespace ct3d::engine
