// SPDX-License-Identifier: MIT
// Stages the input of the kernel for one output channel: one chunk of channels of one plane after the other.
#pragma once

#include "single_output_job.cuh"

namespace ct3d::cuda {

template <GemmMath math, bool channels_last, int tiles> class SingleOutputLoader {
public:
    __device__ __forceinline__ SingleOutputLoader(const SingleOutputParams &params, uint32_t stages)
        : p(params), stages_(stages), to_(stages), runs_(params), thread_(static_cast<int32_t>(threadIdx.x)),
          threads_(p.block_windows * p.block_pieces * 32) {
        if constexpr (!channels_last) {
            const int32_t units = regions() * Row::vectors;
            unit_ = thread_ % units;
            step_ = threads_ / units;
            first_ = thread_ / units;
        }
        enter();
    }

    // Begins to copy the next stage, if there is another.
    __device__ __forceinline__ void load() {
        if (exists_) {
            const Element *const from =
                x_ + plane_ * p.x_z + static_cast<int64_t>(chunk_) * Row::channels * p.x_channel;
            const int32_t channels = min(p.in_channels - chunk_ * Row::channels, Row::channels);
            if (!p.wide)
                copy_elements(from, channels);
            else if constexpr (channels_last)
                copy_positions(from, channels);
            else
                copy_channels(from, channels);
            advance();
        }
        to_ += p.stage_bytes;
        if (to_ == stages_ + p.stages * p.stage_bytes)
            to_ = stages_;
        cp_async_commit();
    }

private:
    using Row = SingleOutputRow<math, channels_last, tiles>;
    using Element = typename Operands<math>::Element;

    __device__ __forceinline__ void advance() {
        if (++chunk_ < p.chunks)
            return;
        chunk_ = 0;
        if (++plane_ == runs_.end_in())
            enter();
    }

    // The next run that reads an input plane.
    __device__ __forceinline__ void enter() {
        do
            exists_ = runs_.next();
        while (exists_ && runs_.first_in() >= runs_.end_in());
        if (!exists_)
            return;
        plane_ = runs_.first_in();
        chunk_ = 0;
        first_y_ = p.axis[1].padding / 2 + runs_.window_y - 1;
        first_x_ = p.first_position + runs_.piece * p.piece_step;
        x_ = static_cast<const Element *>(p.x) + runs_.sample * p.x_sample +
             static_cast<int64_t>(runs_.group) * p.in_channels * p.x_channel + first_y_ * p.x_y + first_x_ * p.x_x;
        if constexpr (!channels_last) {
            const Place place(*this, unit_ / Row::vectors, unit_ % Row::vectors * Row::vector);
            in_row_ = place.exists;
            offset_ = place.offset;
        }
    }

    // A position of a staged row, in x; the offset is from the block's first one.
    struct Place {
        bool exists;
        int32_t offset;

        __device__ __forceinline__ Place(const SingleOutputLoader &l, int32_t region, int32_t position) {
            const SingleOutputParams &p = l.p;
            uint32_t piece = region;
            const int32_t y = static_cast<int32_t>(take_remainder(piece, p.rows));
            const int32_t x = static_cast<int32_t>(piece) * p.piece_step + position;
            exists = static_cast<uint32_t>(l.first_y_ + y) < static_cast<uint32_t>(p.axis[1].in) &&
                     l.first_x_ + x < p.axis[2].in;
            offset = y * static_cast<int32_t>(p.x_y) + x * static_cast<int32_t>(p.x_x);
        }
    };

    // Rows of all pieces.
    __device__ __forceinline__ int32_t regions() const { return p.block_pieces * static_cast<int32_t>(p.rows.value); }

    static __device__ __forceinline__ int32_t whole_steps(int32_t channels) {
        return (channels + Row::depth - 1) / Row::depth * Row::depth;
    }

    // A thread has one place of the rows, in every so many channels.
    __device__ __forceinline__ void copy_channels(const Element *from, int32_t channels) const {
        if (first_ >= step_)
            return;
        const uint32_t row = to_ + unit_ / Row::vectors * p.row_bytes;
        const auto to = [&](int32_t channel) { return row + Row::at(channel, unit_ % Row::vectors); };
        const Element *at = in_row_ ? from + offset_ + first_ * p.x_channel : static_cast<const Element *>(p.x);
        const int64_t step = in_row_ ? step_ * p.x_channel : 0;
        const uint32_t bytes = in_row_ ? 16 : 0;
        int32_t channel = first_;
#pragma unroll 4
        for (; channel < channels; channel += step_, at += step)
            cp_async_16(to(channel), at, bytes);
#pragma unroll 1
        for (; channel < whole_steps(channels); channel += step_)
            cp_async_16(to(channel), p.x, 0);
    }

    // A thread has the same channels of a position in every so many rows, or of some positions in all rows.
    __device__ __forceinline__ void copy_positions(const Element *from, int32_t channels) const {
        constexpr int32_t units = Row::positions * Row::vectors;
        const int32_t channel = thread_ % Row::vectors * Row::vector, step = max(threads_ / units, 1);
        if (channel >= whole_steps(channels) || thread_ / units >= step)
            return;
        from += channel;
#pragma unroll 1
        for (int32_t unit = thread_ % units; unit < units; unit += threads_) {
            const int32_t position = unit / Row::vectors;
            const uint32_t to = to_ + Row::at(position, unit % Row::vectors);
#pragma unroll 4
            for (int32_t region = thread_ / units; region < regions(); region += step) {
                const Place place(*this, region, position);
                const bool exists = place.exists && channel < channels;
                cp_async_16(to + region * p.row_bytes, exists ? from + place.offset : p.x, exists ? 16 : 0);
            }
        }
    }

    // Any alignment.
    __device__ __forceinline__ void copy_elements(const Element *from, int32_t channels) const {
#pragma unroll 2
        for (int32_t i = thread_; i < regions() * Row::positions * Row::channels; i += threads_) {
            constexpr int line = Row::line / Row::element, of_row = Row::lines;
            const int32_t region = i / line / of_row, of_line = i / line % of_row, in_line = i % line;
            const int32_t channel = channels_last ? in_line : of_line, position = channels_last ? of_line : in_line;
            if (channel >= whole_steps(channels))
                continue;
            const Place place(*this, region, position);
            Element v{};
            if (place.exists && channel < channels)
                v = from[place.offset + channel * p.x_channel];
            put(to_ + region * p.row_bytes + Row::element_at(channel, position), v);
        }
    }

    static __device__ __forceinline__ void put(uint32_t to, float v) { store_shared(to, v); }
    template <class E> static __device__ __forceinline__ void put(uint32_t to, E v) { store_shared(to, v.bits); }

    const SingleOutputParams &p;
    const uint32_t stages_;
    uint32_t to_; // the next stage
    SingleOutputRuns runs_;
    const int32_t thread_, threads_;
    bool exists_; // another stage
    const Element *x_;
    int32_t plane_, chunk_, first_y_, first_x_;
    // Channels first: the thread's place, whether it exists, and its first channel.
    int32_t unit_, first_, step_;
    bool in_row_;
    int32_t offset_;
};

} // namespace ct3d::cuda
