// SPDX-License-Identifier: MIT
#include "fibers.hpp"

#include "context.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace standin {

Random draws{1};
uint32_t current_thread;

namespace {

constexpr uint32_t barriers = 16;
constexpr uint64_t most_idle_yields = 1 << 22;

const char *kernel_name = "(no kernel)";
uint64_t block_number;

struct Waiting {
    std::vector<uint32_t> threads;
    uint32_t needed = 0;
};

// Lanes that wait for one another; kept by the lowest lane of their mask.
struct Group {
    uint64_t mask = 0, arrived = 0;
    All all = nullptr;
    void *lanes[most_lanes];
};

// The block that runs.
struct Block {
    uint32_t threads, warp, running;
    Entry entry;
    const void *params;
    std::vector<uint32_t> ready;
    Waiting at[barriers];
    std::vector<Group> groups;
    uint64_t idle_yields;
};

Block block;
Context host;
std::vector<std::unique_ptr<Context>> fibers; // kept from block to block

[[noreturn]] void report_deadlock() {
    for (uint32_t id = 0; id < barriers; ++id)
        if (!block.at[id].threads.empty())
            fault("%zu of %u threads wait at barrier %u, which needs %u; the others wait elsewhere or have ended",
                  block.at[id].threads.size(), block.threads, id,
                  block.at[id].needed ? block.at[id].needed : block.running);
    for (const Group &group : block.groups)
        if (group.arrived)
            fault("lanes %#llx of a warp wait in a collective for the others of %#llx",
                  static_cast<unsigned long long>(group.arrived), static_cast<unsigned long long>(group.mask));
    fault("no thread can go on");
}

uint32_t take_ready() {
    if (block.ready.empty())
        report_deadlock();
    uint32_t &pick = block.ready[draws.below(static_cast<uint32_t>(block.ready.size()))];
    const uint32_t thread = pick;
    pick = block.ready.back();
    block.ready.pop_back();
    return thread;
}

// The caller has put itself where it will be found.
void run_another() {
    const uint32_t self = current_thread, next = take_ready();
    if (next == self)
        return;
    current_thread = next;
    fibers[self]->switch_to(*fibers[next], false);
    current_thread = self;
}

void release(Waiting &waiting) {
    block.ready.insert(block.ready.end(), waiting.threads.begin(), waiting.threads.end());
    waiting.threads.clear();
    waiting.needed = 0;
    made_progress();
}

void release_if_complete(Waiting &waiting) {
    const uint32_t needed = waiting.needed ? waiting.needed : block.running;
    if (!waiting.threads.empty() && waiting.threads.size() >= needed)
        release(waiting);
}

void fiber_main() {
    Context::entered();
    block.entry(block.params);
    --block.running;
    made_progress();
    for (Waiting &waiting : block.at)
        if (waiting.needed == 0)
            release_if_complete(waiting);
    const uint32_t self = current_thread;
    if (block.running == 0)
        fibers[self]->switch_to(host, true);
    current_thread = take_ready();
    fibers[self]->switch_to(*fibers[current_thread], true);
}

} // namespace

uint64_t Random::next() { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1dULL) >> 16;
}

void fault(const char *format, ...) {
    std::fprintf(stderr, "standin: kernel %s, block %llu, thread %u: ", kernel_name,
                 static_cast<unsigned long long>(block_number), current_thread);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    std::fputc('\n', stderr);
    std::abort();
}

void set_position(const char *kernel, uint64_t number) {
    kernel_name = kernel;
    block_number = number;
}

void run_block(uint32_t threads, uint32_t warp, Entry entry, const void *params) {
    while (fibers.size() < threads)
        fibers.push_back(std::make_unique<Context>());
    block.threads = block.running = threads;
    block.warp = warp;
    block.entry = entry;
    block.params = params;
    for (Waiting &waiting : block.at)
        waiting = {};
    block.groups.resize((threads + warp - 1) / warp * warp);
    for (Group &group : block.groups)
        group.arrived = 0;
    block.idle_yields = 0;
    block.ready.resize(threads);
    for (uint32_t i = 0; i < threads; ++i) {
        fibers[i]->prepare(fiber_main);
        block.ready[i] = i;
    }
    current_thread = take_ready();
    host.switch_to(*fibers[current_thread], false);
    current_thread = 0;
}

uint32_t warp_lanes() { return block.warp; }

void barrier(uint32_t id, uint32_t count) {
    if (id >= barriers || count > block.threads || (count && count % block.warp))
        fault("barrier %u of %u threads", id, count);
    Waiting &waiting = block.at[id];
    if (!waiting.threads.empty() && waiting.needed != count)
        fault("barrier %u is waited at for %u and for %u threads", id, waiting.needed, count);
    waiting.needed = count;
    waiting.threads.push_back(current_thread);
    release_if_complete(waiting);
    run_another();
}

void yield() {
    if (++block.idle_yields > most_idle_yields)
        fault("threads wait for what never comes");
    block.ready.push_back(current_thread);
    run_another();
}

void made_progress() { block.idle_yields = 0; }

void collective(uint64_t mask, void *lane, All all) {
    const uint32_t warp = current_thread / block.warp, own = current_thread % block.warp, first = warp * block.warp;
    const uint64_t whole = block.warp == 64 ? ~uint64_t{0} : (uint64_t{1} << block.warp) - 1;
    if (!(mask >> own & 1) || (mask & ~whole))
        fault("a collective of lanes %#llx, called by lane %u", static_cast<unsigned long long>(mask), own);
    Group &group = block.groups[first + static_cast<uint32_t>(__builtin_ctzll(mask))];
    if (group.arrived && (group.mask != mask || group.all != all))
        fault("lanes of warp %u meet in different collectives", warp);
    group.mask = mask;
    group.all = all;
    group.lanes[own] = lane;
    group.arrived |= uint64_t{1} << own;
    if (group.arrived == mask) {
        group.arrived = 0;
        all(group.lanes, mask);
        made_progress();
        for (uint32_t i = 0; i < block.warp; ++i)
            if (i != own && (mask >> i & 1))
                block.ready.push_back(first + i);
        block.ready.push_back(current_thread);
    }
    run_another();
}

} // namespace standin
