// SPDX-License-Identifier: MIT
#include "context.hpp"

#include "asan.hpp"
#include "fibers.hpp"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

#if STANDIN_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace standin {

namespace {

#if STANDIN_ASAN
constexpr size_t stack_bytes = 1 << 20;
#else
constexpr size_t stack_bytes = 1 << 17;
#endif

// With a page below that faults.
char *new_stack() {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *const memory =
        mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0)
        fault("no memory for a stack");
    return static_cast<char *>(memory) + page;
}

#if STANDIN_ASAN
Context *leaving, *entering;
#endif

} // namespace

#ifdef __x86_64__

// Saves the registers that a call preserves on the old stack and takes them from the new one.
extern "C" void standin_switch(void **save, void *load);
asm(R"(
    .text
    .hidden standin_switch
    .globl standin_switch
    .type standin_switch, @function
standin_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size standin_switch, . - standin_switch
)");

void Context::prepare(void (*start)()) {
    if (!stack_)
        stack_ = new_stack();
    bottom_ = stack_;
    size_ = stack_bytes;
    constexpr size_t saved = 6;
    auto *const top = reinterpret_cast<uintptr_t *>(stack_ + stack_bytes) - 2; // as if called from an aligned frame
    top[0] = reinterpret_cast<uintptr_t>(start);
    for (size_t i = 1; i <= saved; ++i)
        top[-static_cast<ptrdiff_t>(i)] = 0;
    top[1] = 0;
    position_ = top - saved;
}

#else

void Context::prepare(void (*start)()) {
    if (!stack_)
        stack_ = new_stack();
    bottom_ = stack_;
    size_ = stack_bytes;
    if (!position_)
        position_ = new ucontext_t;
    auto *const context = static_cast<ucontext_t *>(position_);
    getcontext(context);
    context->uc_stack.ss_sp = stack_;
    context->uc_stack.ss_size = stack_bytes;
    makecontext(context, start, 0);
}

#endif

Context::~Context() {
    if (stack_) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        munmap(stack_ - page, stack_bytes + page);
    }
#ifndef __x86_64__
    delete static_cast<ucontext_t *>(position_);
#endif
}

void Context::switch_to(Context &next, [[maybe_unused]] bool ends) {
#if STANDIN_ASAN
    leaving = this;
    entering = &next;
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, next.bottom_, next.size_);
#endif
#ifdef __x86_64__
    standin_switch(&position_, next.position_);
#else
    if (!position_)
        position_ = new ucontext_t;
    swapcontext(static_cast<ucontext_t *>(position_), static_cast<ucontext_t *>(next.position_));
#endif
    entered();
}

void Context::entered() {
#if STANDIN_ASAN
    Context *const from = leaving, *const to = entering;
    __sanitizer_finish_switch_fiber(to->fake_stack_, &from->bottom_, &from->size_);
    to->fake_stack_ = nullptr;
#endif
}

} // namespace standin
