// SPDX-License-Identifier: MIT
// What the stand-in makes visible: missing barriers and waits; and what it refuses, with a message.
#include "asan.hpp"
#include "async_copies.hpp"
#include "faults.hpp"
#include "tensor_core.hpp"
#include "warp.hpp"
#include "warpgroup.hpp"

#include <cstdlib>
#include <string>

using standin::tests::expect_fault;
using standin::tests::run_warps;
using standin::tests::shared_bytes;

namespace {

int *shared_ints() { return static_cast<int *>(standin::dynamic_shared()); }

// How many of some launches, each with draws of its own, `run` finds wrong.
template <class Run> int count_wrong(const Run &run) {
    int wrong = 0;
    for (int i = 0; i < 20; ++i) {
        setenv("CT3D_STANDIN_SEED", std::to_string(i).c_str(), 1);
        wrong += run();
    }
    return wrong;
}

bool neighbours_agree(bool with_barrier) {
    bool agree = true;
    run_warps(2, [&](uint32_t thread) {
        shared_ints()[thread] = static_cast<int>(thread);
        if (with_barrier)
            __syncthreads();
        agree &= shared_ints()[thread ^ 1] == static_cast<int>(thread ^ 1);
    });
    return agree;
}

void missing_barriers_show(void **) {
    assert_int_equal(count_wrong([] { return !neighbours_agree(true); }), 0);
    assert_int_equal(count_wrong([] { return !neighbours_agree(false); }), 20);
}

alignas(16) const int source[4] = {1, 2, 3, 4};

bool copies_arrive(bool with_wait) {
    bool arrived = true;
    run_warps(1, [&](uint32_t thread) {
        int *const own = shared_ints() + 4 * thread;
        standin::copy_async(standin::shared_address(own), source, 16, 12);
        standin::commit_async();
        if (with_wait)
            standin::wait_async(0);
        arrived &= own[0] == 1 && own[2] == 3 && own[3] == 0;
    });
    return arrived;
}

void missing_waits_show(void **) {
    assert_int_equal(count_wrong([] { return !copies_arrive(true); }), 0);
    assert_int_equal(count_wrong([] { return !copies_arrive(false); }), 20);
}

bool span_arrives(bool with_wait) {
    alignas(16) int target[32][4] = {};
    bool arrived = true;
    run_warps(1, [&](uint32_t thread) {
        int *const own = shared_ints() + 4 * thread;
        own[0] = own[1] = own[2] = own[3] = static_cast<int>(thread);
        standin::fence_proxy_async();
        standin::bulk_store(target[thread], standin::shared_address(own), 16);
        standin::commit_bulk();
        if (with_wait)
            standin::wait_bulk(0);
        own[0] = -1;
        standin::wait_bulk(0);
        arrived &= target[thread][0] == static_cast<int>(thread);
    });
    return arrived;
}

void overwritten_bulk_stores_show(void **) {
    assert_int_equal(count_wrong([] { return !span_arrives(true); }), 0);
    assert_int_equal(count_wrong([] { return !span_arrives(false); }), 20);
}

// A ring of one slot that the first thread fills: a wait on either side keeps reader and loader apart.
void bulk_loads_complete_their_barrier(void **) {
    alignas(16) static int data[16][4];
    for (int i = 0; i < 64; ++i)
        data[i / 4][i % 4] = i;
    const auto run = [] {
        bool right = true;
        run_warps(1, [&](uint32_t thread) {
            const uint32_t full = standin::shared_address(shared_ints() + 64), empty = full + 8;
            const uint32_t slot = standin::shared_address(shared_ints());
            if (thread == 0) {
                standin::barrier_init(full, 1);
                standin::barrier_init(empty, 32);
            }
            __syncthreads();
            for (uint32_t i = 0; i < 16; ++i) {
                if (thread == 0) {
                    standin::barrier_wait(empty, (i & 1) ^ 1);
                    standin::barrier_expect(full, 16);
                    standin::bulk_load(slot, data[i], 16, full);
                }
                standin::barrier_wait(full, i & 1);
                right &= shared_ints()[3] == data[i][3];
                standin::barrier_arrive(empty);
            }
        });
        return !right;
    };
    assert_int_equal(count_wrong(run), 0);
}

void lanes_exchange_values(void **) {
    run_warps(2, [](uint32_t thread) {
        const uint32_t lane = thread % 32, all = 0xffffffff;
        assert_int_equal(__shfl_sync(all, thread, 5), thread - lane + 5);
        assert_int_equal(__shfl_sync(all, lane, 3, 8), lane / 8 * 8 + 3);
        assert_int_equal(__shfl_xor_sync(all, lane, 9), lane ^ 9);
        assert_int_equal(__shfl_up_sync(all, lane, 4), lane < 4 ? lane : lane - 4);
        assert_int_equal(__shfl_down_sync(all, lane, 4, 16), lane % 16 < 12 ? lane + 4 : lane);
        assert_int_equal(__ballot_sync(all, lane % 3 == 0), 0x49249249);
        assert_true(__any_sync(all, lane == 7) && !__all_sync(all, lane == 7));
        if (lane < 16)
            assert_int_equal(__shfl_xor_sync(0xffff, lane, 1), lane ^ 1);
    });
}

void bytes_are_permuted(void **) {
    assert_int_equal(__byte_perm(0x33221100, 0x77665544, 0x7250), 0x77225500);
    assert_int_equal(__byte_perm(0x80, 0, 0x1908), 0x000080ff);
    assert_int_equal(__funnelshift_r(0x33221100, 0x77665544, 16), 0x55443322);
    assert_int_equal(__funnelshift_l(0x33221100, 0x77665544, 8), 0x66554433);
}

void faults_are_reported(void **) {
    using standin::shared_address;
    expect_fault("31 of 64 threads wait at barrier 1, which needs 32", [] {
        run_warps(2, [](uint32_t thread) {
            if (thread > 32)
                standin::barrier(1, 32);
        });
    });
    expect_fault("lanes 0xffffffef of a warp wait", [] {
        run_warps(1, [](uint32_t thread) {
            if (thread != 4)
                __syncwarp();
        });
    });
    expect_fault("different collectives", [] {
        run_warps(1, [](uint32_t thread) { thread == 9 ? __syncwarp() : void(__any_sync(0xffffffff, 1)); });
    });
    expect_fault("lane 20 shuffles from lane 40", [] {
        run_warps(1, [](uint32_t thread) { standin::shuffle(0xffffffff, 1, thread == 20 ? 40 : thread); });
    });
    expect_fault("written at byte 4100 of 4096",
                 [] { run_warps(1, [](uint32_t) { shared_ints()[shared_bytes / 4 + 1] = 0; }); });
    expect_fault("outside", [] { run_warps(1, [](uint32_t) { standin::shared_pointer(1024 + shared_bytes, 4); }); });
    expect_fault("must be a multiple of 16", [] {
        run_warps(1, [](uint32_t) {
            uint32_t r[4];
            standin::ldmatrix_x4(r, shared_address(shared_ints() + 1), false);
        });
    });
    expect_fault("global address", [] {
        run_warps(1, [](uint32_t) { standin::copy_async(shared_address(shared_ints()), source + 1, 16, 16); });
    });
    expect_fault("no thread has fenced", [] {
        run_warps(1, [](uint32_t) { standin::bulk_store(nullptr, shared_address(shared_ints()), 16); });
    });
    expect_fault("before its bulk stores had read", [] {
        run_warps(1, [](uint32_t) {
            alignas(16) static int target[4];
            standin::fence_proxy_async();
            standin::bulk_store(target, shared_address(shared_ints()), 16);
            standin::commit_bulk();
        });
    });
    expect_fault("without a fence", [] {
        run_warps(4, [](uint32_t) {
            float sums[4];
            standin::warpgroup_multiply(standin::Product::f16, 8, sums, uint64_t{0}, 0, false);
        });
    });
    expect_fault("has no swizzle", [] {
        run_warps(4, [](uint32_t) {
            float sums[4];
            standin::fence_products();
            standin::warpgroup_multiply(standin::Product::f16, 8, sums, 64, 64, false);
            standin::commit_products();
            standin::wait_products(0);
        });
    });
    expect_fault("has ended before its wgmma", [] {
        run_warps(4, [](uint32_t thread) {
            if (thread % 32 == 0)
                standin::commit_products();
        });
    });
    expect_fault("there is no tensor map", [] {
        run_warps(1, [](uint32_t) {
            alignas(64) static const uint8_t map[standin::tensor_map_bytes] = {};
            standin::tensor_load(shared_address(shared_ints()), map, {0, 0, 0, 0, 0}, shared_address(shared_ints()));
        });
    });
    if (!STANDIN_ASAN)
        expect_fault("access to 0x10", [] {
            run_warps(1, [](uint32_t) {
                volatile uintptr_t nowhere = 16;
                *reinterpret_cast<volatile int *>(nowhere) = 1;
            });
        });
    expect_fault("what never comes", [] {
        run_warps(1, [](uint32_t) {
            const uint32_t barrier = shared_address(shared_ints());
            standin::barrier_init(barrier, 2);
            standin::barrier_wait(barrier, 0);
        });
    });
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(missing_barriers_show),        cmocka_unit_test(missing_waits_show),
        cmocka_unit_test(overwritten_bulk_stores_show), cmocka_unit_test(bulk_loads_complete_their_barrier),
        cmocka_unit_test(lanes_exchange_values),        cmocka_unit_test(bytes_are_permuted),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests_name("standin_fibers", tests, nullptr, nullptr);
}
