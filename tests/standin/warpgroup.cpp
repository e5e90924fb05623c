// SPDX-License-Identifier: MIT
#include "warpgroup.hpp"

#include "fibers.hpp"
#include "shared_memory.hpp"
#include "tensor_core.hpp"
#include "tensor_map.hpp"

#include <bit>
#include <cstring>
#include <deque>
#include <vector>

namespace standin {

namespace {

constexpr uint32_t lanes = 32, warps_of_group = 4, warp_rows = 16, most_columns = 256, most_depth = 16;
constexpr uint32_t slice_bytes = 32; // of a row, that one instruction multiplies
constexpr uint64_t whole_warp = 0xffffffff;

// An instruction of a warp, which some lanes may not have reached yet; no columns: the end of a group.
struct Instruction {
    Product type = Product::f16;
    uint32_t columns = 0;
    uint64_t a = 0, b = 0;
    bool accumulate = false;
    bool a_in_registers = false;
    uint32_t arrived = 0;
    float *sums[lanes] = {};
    const uint32_t *registers[lanes] = {};

    bool same(const Instruction &o) const {
        return type == o.type && columns == o.columns && a == o.a && b == o.b && accumulate == o.accumulate &&
               a_in_registers == o.a_in_registers;
    }
};

struct Warp {
    std::deque<Instruction> pending; // in order
    uint64_t done = 0, issued[lanes] = {};
    bool fenced[lanes] = {};
};
std::vector<Warp> warps;

Warp &own_warp() { return warps[current_thread / lanes]; }

// Rows of an operand, as a descriptor tells it.
struct Rows {
    uint32_t first, eight_rows, row_bytes;

    explicit Rows(uint64_t descriptor)
        : first(static_cast<uint32_t>(descriptor & 0x3fff) << 4),
          eight_rows(static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4),
          row_bytes(descriptor >> 62 ? 256u >> (descriptor >> 62) : 0) {
        if (row_bytes == 0)
            fault("wgmma: descriptor %#llx has no swizzle", static_cast<unsigned long long>(descriptor));
        if (descriptor >> 49 & 7)
            fault("wgmma: descriptor %#llx has a base offset", static_cast<unsigned long long>(descriptor));
        if (eight_rows % (8 * row_bytes) != 0)
            fault("wgmma: %u bytes from eight rows to the next, of %u bytes each", eight_rows, row_bytes);
        if (first % row_bytes + slice_bytes > row_bytes)
            fault("wgmma: %u bytes from byte %u of rows of %u", slice_bytes, first % row_bytes, row_bytes);
    }

    void read(uint32_t row, uint8_t (&to)[slice_bytes]) const {
        for (uint32_t at = 0; at < slice_bytes; at += 16) {
            const uint32_t address = first + row / 8 * eight_rows + row % 8 * row_bytes + at;
            std::memcpy(to + at, shared_pointer(swizzled(address, row_bytes), 16), 16);
        }
    }
};

void to_floats(Product type, const uint8_t (&bytes)[slice_bytes], float *to) {
    uint16_t halves[16];
    uint32_t words[8];
    std::memcpy(halves, bytes, slice_bytes);
    std::memcpy(words, bytes, slice_bytes);
    switch (type) {
    case Product::f16:
        for (uint32_t i = 0; i < 16; ++i)
            to[i] = half_to_float(halves[i]);
        break;
    case Product::bf16:
        for (uint32_t i = 0; i < 16; ++i)
            to[i] = std::bit_cast<float>(uint32_t{halves[i]} << 16);
        break;
    case Product::tf32:
        for (uint32_t i = 0; i < 8; ++i)
            to[i] = std::bit_cast<float>(words[i] & 0xffffe000); // the rest is ignored
        break;
    }
}

struct Matrices {
    float a[warp_rows][most_depth], b[most_depth][most_columns], sums[warp_rows][most_columns];

    void read(const Instruction &in, uint32_t first_row) {
        const Rows b_rows(in.b);
        uint8_t bytes[slice_bytes];
        for (uint32_t row = 0; row < warp_rows; ++row) {
            if (in.a_in_registers)
                read_registers(in, row, bytes);
            else
                Rows(in.a).read(first_row + row, bytes);
            to_floats(in.type, bytes, a[row]);
        }
        for (uint32_t column = 0; column < in.columns; ++column) {
            float values[most_depth] = {};
            b_rows.read(column, bytes);
            to_floats(in.type, bytes, values);
            for (uint32_t k = 0; k < most_depth; ++k)
                b[k][column] = values[k];
        }
    }

    static void read_registers(const Instruction &in, uint32_t row, uint8_t (&to)[slice_bytes]) {
        for (uint32_t word = 0; word < slice_bytes / 4; ++word)
            std::memcpy(to + 4 * word, &in.registers[row % 8 * 4 + word % 4][row / 8 + word / 4 * 2], 4);
    }

    void multiply(uint32_t depth, uint32_t columns) {
        for (uint32_t row = 0; row < warp_rows; ++row)
            for (uint32_t k = 0; k < depth; ++k)
                for (uint32_t column = 0; column < columns; ++column)
                    sums[row][column] += a[row][k] * b[k][column];
    }

    // Hands over each sum with the register of the lane that holds it.
    template <class Visit> void each_sum(const Instruction &in, const Visit &visit) {
        for (uint32_t lane = 0; lane < lanes; ++lane)
            for (uint32_t i = 0; i < in.columns / 2; ++i)
                visit(sums[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + 2 * (lane % 4) + i % 2], in.sums[lane][i]);
    }
};

void carry_out(const Instruction &in, uint32_t warp) {
    static Matrices m;
    m.read(in, warp % warps_of_group * warp_rows);
    if (in.accumulate)
        m.each_sum(in, [](float &sum, const float &held) { sum = held; });
    else
        std::memset(m.sums, 0, sizeof m.sums);
    m.multiply(in.type == Product::tf32 ? 8 : 16, in.columns);
    m.each_sum(in, [](const float &sum, float &held) { held = sum; });
}

void carry_out_first(Warp &w) {
    if (w.pending.front().columns)
        carry_out(w.pending.front(), static_cast<uint32_t>(&w - warps.data()));
    w.pending.pop_front();
    ++w.done;
}

void carry_out_complete(Warp &w) {
    while (!w.pending.empty() && w.pending.front().arrived == lanes)
        carry_out_first(w);
}

void issue(const Instruction &given, float *sums, const uint32_t *registers) {
    Warp &w = own_warp();
    const uint32_t lane = current_thread % lanes;
    const uint64_t place = w.issued[lane]++ - w.done;
    if (place == w.pending.size())
        w.pending.push_back(given);
    Instruction &in = w.pending[place];
    if (!in.same(given))
        fault("lanes of warp %u issue different wgmma instructions", current_thread / lanes);
    in.sums[lane] = sums;
    in.registers[lane] = registers;
    if (++in.arrived == lanes && in.columns && draws.coin())
        carry_out_complete(w);
}

struct Wait {
    uint32_t groups_left;
};

void wait_together(void *const given[], uint64_t) {
    const uint32_t groups_left = static_cast<const Wait *>(given[0])->groups_left;
    Warp &w = own_warp();
    uint32_t groups = 0;
    for (const Instruction &in : w.pending) {
        if (in.arrived != lanes)
            fault("lanes of warp %u have issued different numbers of wgmma instructions", current_thread / lanes);
        groups += in.columns == 0;
    }
    for (; groups > groups_left; carry_out_first(w))
        groups -= w.pending.front().columns == 0;
}

} // namespace

void begin_products(uint32_t threads) { warps.assign((threads + lanes - 1) / lanes, {}); }

void end_products() {
    for (const Warp &w : warps)
        if (!w.pending.empty())
            fault("warp %td has ended before its wgmma instructions", &w - warps.data());
}

namespace {

void check_multiply(uint32_t columns) {
    if (columns == 0 || columns > most_columns || columns % 8 != 0)
        fault("wgmma with %u columns", columns);
    if (!own_warp().fenced[current_thread % lanes])
        fault("wgmma without a fence before it");
}

} // namespace

void warpgroup_multiply(Product type, uint32_t columns, float *sums, uint64_t a, uint64_t b, bool accumulate) {
    check_multiply(columns);
    issue({.type = type, .columns = columns, .a = a, .b = b, .accumulate = accumulate}, sums, nullptr);
}

void warpgroup_multiply(Product type, uint32_t columns, float *sums, const uint32_t *a, uint64_t b, bool accumulate) {
    check_multiply(columns);
    issue({.type = type, .columns = columns, .b = b, .accumulate = accumulate, .a_in_registers = true}, sums, a);
}

void fence_products() { own_warp().fenced[current_thread % lanes] = true; }

void commit_products() { issue({}, nullptr, nullptr); }

void wait_products(uint32_t groups_left) {
    own_warp().fenced[current_thread % lanes] = false; // sums and operands may be written from now on
    Wait own{groups_left};
    collective(whole_warp, &own, wait_together);
}

} // namespace standin
