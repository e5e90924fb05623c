// SPDX-License-Identifier: MIT
// A line on the terminal that says how far a long run is; nothing where standard error is not a terminal.
#pragma once

#include <cstddef>
#include <string>

namespace ct3d::tool {

class Progress {
public:
    explicit Progress(size_t total);
    ~Progress() { clear(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void next(const std::string &name);
    void show();  // the same again
    void clear(); // before something else is printed

private:
    const size_t total_;
    const bool terminal_;
    size_t done_ = 0;
    std::string name_;
};

} // namespace ct3d::tool
