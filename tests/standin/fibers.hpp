// SPDX-License-Identifier: MIT
// The threads of one block as fibers of the calling thread: they switch only at barriers and collectives, in an order
// drawn from a seed, so that a missing barrier shows. Knows nothing of any vendor's API.
#pragma once

#include <cstdint>

namespace standin {

// Ends the process with the message, and where in the grid it happened: a kernel did what no device allows.
[[noreturn]] [[gnu::format(printf, 1, 2)]] void fault(const char *format, ...);

// What is being run, for the message of a fault.
void set_position(const char *kernel, uint64_t block);

struct Random {
    uint64_t state;

    uint64_t next();
    uint32_t below(uint32_t count) { return static_cast<uint32_t>((next() & UINT32_MAX) * count >> 32); }
    bool coin() { return next() & 1; }
};

// Draws of the launch that is running.
extern Random draws;

using Entry = void (*)(const void *params);

// Runs `entry` in every one of the threads. A fault where threads wait for what never comes.
void run_block(uint32_t threads, uint32_t warp, Entry entry, const void *params);

// Of the running fiber.
extern uint32_t current_thread;

// Lanes of a warp of the block that runs.
uint32_t warp_lanes();

// Waits until `count` threads are at barrier `id`; 0 stands for all that have not ended.
void barrier(uint32_t id, uint32_t count);

// Lets others run; the caller checks again for what it waits for. A fault if nobody makes progress.
void yield();
void made_progress();

// A step that the lanes of `mask` take together. The last to arrive calls `all` with the address that each lane gave.
constexpr uint32_t most_lanes = 64;
using All = void (*)(void *const lanes[most_lanes], uint64_t mask);
void collective(uint64_t mask, void *lane, All all);

} // namespace standin
