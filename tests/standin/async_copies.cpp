// SPDX-License-Identifier: MIT
#include "async_copies.hpp"

#include "fibers.hpp"
#include "shared_memory.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <variant>
#include <vector>

namespace standin {

namespace {

struct Copy {
    void *to;
    const void *from;
    uint32_t bytes, given;
};

struct Load {
    std::variant<Copy, TensorBox> what;
    uint32_t bytes, barrier;
};

void carry_out(const Copy &c) {
    if (c.given)
        std::memcpy(c.to, c.from, c.given);
    std::memset(static_cast<uint8_t *>(c.to) + c.given, 0, c.bytes - c.given);
}

void carry_out(const TensorBox &box) { copy(box); }

// The copies of one thread, in groups.
struct Queue {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;

    void start(const Copy &c) {
        if (draws.coin())
            carry_out(c);
        else
            open.push_back(c);
    }
    void commit() {
        groups.push_back(std::move(open));
        open.clear();
    }
    void wait(uint32_t groups_left) {
        for (; groups.size() > groups_left; groups.pop_front())
            for (const Copy &c : groups.front())
                carry_out(c);
    }
    void clear() {
        open.clear();
        groups.clear();
    }
};

struct Thread {
    Queue loads, stores;
    bool uncommitted = false;
};

std::vector<Thread> threads;
std::vector<Load> loads;
bool fenced;

Thread &own() { return threads[current_thread]; }

void check_aligned(const char *what, uint64_t value, uint32_t alignment) {
    if (value % alignment != 0)
        fault("%s is %#llx, must be a multiple of %u", what, static_cast<unsigned long long>(value), alignment);
}

uint64_t number(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// What an mbarrier's word stands for; the word itself only tells whether it was overwritten.
struct Barrier {
    uint32_t phase, expected, pending;
    int64_t bytes;
};
constexpr uint64_t mark = 0x6d62617272696572;
std::map<uint32_t, Barrier> barriers;

Barrier &barrier_at(uint32_t address) {
    check_aligned("mbarrier", address, 8);
    uint64_t word;
    std::memcpy(&word, shared_pointer(address, 8), 8);
    const auto found = barriers.find(address);
    if (found == barriers.end() || word != mark)
        fault("the mbarrier at %u is not initialised, or was overwritten", address);
    return found->second;
}

void complete_phase(Barrier &b) {
    if (b.pending != 0 || b.bytes != 0)
        return;
    b.phase ^= 1;
    b.pending = b.expected;
    made_progress();
}

void arrive(Barrier &b) {
    if (b.pending == 0)
        fault("more arrivals at an mbarrier than its count");
    --b.pending;
    complete_phase(b);
}

void carry_out(const Load &load) {
    std::visit([](const auto &what) { carry_out(what); }, load.what);
    Barrier &b = barrier_at(load.barrier);
    b.bytes -= load.bytes;
    complete_phase(b);
}

void start(const Load &load) {
    barrier_at(load.barrier);
    if (draws.coin())
        carry_out(load);
    else
        loads.push_back(load);
}

// One of the loads that are under way, whoever started it.
void carry_out_any() {
    if (loads.empty())
        return;
    std::swap(loads[draws.below(static_cast<uint32_t>(loads.size()))], loads.back());
    const Load load = loads.back();
    loads.pop_back();
    carry_out(load);
}

} // namespace

void begin_copies(uint32_t count) {
    threads.resize(count);
    for (Thread &t : threads) {
        t.loads.clear();
        t.stores.clear();
        t.uncommitted = false;
    }
    loads.clear();
    barriers.clear();
    fenced = false;
}

void end_copies() {
    for (const Thread &t : threads)
        if (t.uncommitted || !t.stores.groups.empty())
            fault("thread %td has ended before its bulk stores had read shared memory", &t - threads.data());
    if (!loads.empty())
        fault("%zu bulk loads are under way at the block's end", loads.size());
}

void copy_async(uint32_t shared, const void *global, uint32_t bytes, uint32_t given) {
    if ((bytes != 4 && bytes != 8 && bytes != 16) || given > bytes)
        fault("cp.async of %u bytes, %u of them from memory", bytes, given);
    check_aligned("cp.async: shared address", shared, bytes);
    check_aligned("cp.async: global address", number(global), bytes);
    own().loads.start({shared_pointer(shared, bytes), global, bytes, given});
}

void commit_async() { own().loads.commit(); }
void wait_async(uint32_t groups_left) { own().loads.wait(groups_left); }

void bulk_store(void *global, uint32_t shared, uint32_t bytes) {
    check_aligned("cp.async.bulk: shared address", shared, 16);
    check_aligned("cp.async.bulk: global address", number(global), 16);
    check_aligned("cp.async.bulk: size", bytes, 16);
    if (bytes == 0)
        fault("cp.async.bulk of no bytes");
    if (!fenced)
        fault("cp.async.bulk reads shared memory, and no thread has fenced its writes for it");
    own().stores.start({global, shared_pointer(shared, bytes), bytes, bytes});
    own().uncommitted = true;
}

void commit_bulk() {
    own().stores.commit();
    own().uncommitted = false;
}

void wait_bulk(uint32_t groups_left) { own().stores.wait(groups_left); }
void fence_proxy_async() { fenced = true; }

void bulk_load(uint32_t shared, const void *global, uint32_t bytes, uint32_t barrier) {
    check_aligned("cp.async.bulk: shared address", shared, 16);
    check_aligned("cp.async.bulk: global address", number(global), 16);
    check_aligned("cp.async.bulk: size", bytes, 16);
    start({Copy{shared_pointer(shared, bytes), global, bytes, bytes}, bytes, barrier});
}

void tensor_load(uint32_t shared, const void *map, const int32_t (&at)[tensor_axes], uint32_t barrier) {
    const TensorBox box = tensor_box(shared, map, at);
    start({box, bytes_of(box), barrier});
}

void barrier_init(uint32_t address, uint32_t count) {
    check_aligned("mbarrier", address, 8);
    if (count == 0 || count >= 1 << 20)
        fault("mbarrier with a count of %u", count);
    std::memcpy(shared_pointer(address, 8), &mark, 8);
    barriers[address] = {0, count, count, 0};
}

void barrier_expect(uint32_t address, uint32_t bytes) {
    Barrier &b = barrier_at(address);
    b.bytes += bytes;
    arrive(b);
}

void barrier_arrive(uint32_t address) { arrive(barrier_at(address)); }

void barrier_wait(uint32_t address, uint32_t parity) {
    const Barrier &b = barrier_at(address);
    while (b.phase == (parity & 1)) {
        carry_out_any();
        if (b.phase == (parity & 1))
            yield();
    }
}

} // namespace standin
