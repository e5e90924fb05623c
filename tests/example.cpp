// SPDX-License-Identifier: MIT
// The program of example.c with the C++ binding: upsamples a 1x2x2 image to 1x4x4 and prints it.
//
//     c++ -std=c++17 example.cpp $(pkg-config --cflags --libs ct3d) -o example && ./example
#include <ct3d/ct3d.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

ct3d::Problem describe_problem() {
    ct3d::Problem p;
    p.has_bias = 1;
    p.in_channels = 1;
    p.out_channels = 1;
    const std::int64_t in[3] = {1, 2, 2}, kernel[3] = {1, 2, 2};
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = in[axis];
        p.kernel[axis] = p.stride[axis] = kernel[axis];
    }
    return p;
}

void upsample() {
    const ct3d::Problem problem = describe_problem();
    const auto [n, c, depth, height, width] = problem.output_shape();
    const ct3d::Plan plan(problem);

    const std::vector<float> x{1, 2, 3, 4}, w{1, 10, 100, 1000}, bias{0.5f};
    std::vector<float> y(static_cast<std::size_t>(n * c * depth * height * width));
    const ct3d::Memory workspace = plan.new_workspace();

    ct3d::Buffers buffers;
    buffers.x = x.data();
    buffers.w = w.data();
    buffers.bias = bias.data();
    buffers.y = y.data();
    buffers.workspace = workspace.data();
    buffers.workspace_size = workspace.size();
    plan.execute(buffers);

    for (std::size_t i = 0; i < y.size(); ++i)
        std::printf("%g%c", static_cast<double>(y[i]), (i + 1) % static_cast<std::size_t>(width) ? ' ' : '\n');
}

} // namespace

int main() {
    try {
        upsample();
    } catch (const ct3d::Error &error) {
        std::fprintf(stderr, "%s: %s\n", ct3d_status_string(error.status()), error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
