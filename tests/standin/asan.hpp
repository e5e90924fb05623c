// SPDX-License-Identifier: MIT
// Whether the address sanitizer is in this build.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define STANDIN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STANDIN_ASAN 1
#endif
#endif
#ifndef STANDIN_ASAN
#define STANDIN_ASAN 0
#endif
