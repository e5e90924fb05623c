// SPDX-License-Identifier: MIT
// Switching between stacks.
#pragma once

#include <cstddef>

namespace standin {

class Context {
public:
    Context() = default; // of the thread that runs
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    // Gives the context a stack, once, and makes it begin in `start` at the next switch, every time.
    void prepare(void (*start)());

    // Saves where the caller is in `*this` and goes on in `next`; `ends`: the caller's stack is not needed any more.
    void switch_to(Context &next, bool ends);

    // The first thing to be called on a new stack.
    static void entered();

private:
    void *position_ = nullptr; // what the switch needs to go on
    char *stack_ = nullptr;
    void *fake_stack_ = nullptr; // of the address sanitizer
    const void *bottom_ = nullptr;
    size_t size_ = 0;
};

} // namespace standin
