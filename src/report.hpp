// SPDX-License-Identifier: MIT
// A tree of named values, written as indented text or as JSON by one sequence of calls.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ct3d {

class Report {
public:
    enum class Format { text, json };

    explicit Report(Format); // opens the outermost object

    void open_object(const char *key);
    void open_list(const char *key); // of objects, each between open_item and close
    void open_item();
    void close();

    void field(const char *key, std::string_view value);
    void field(const char *key, double value);
    template <std::integral Integer> void field(const char *key, Integer value) { raw(key, std::to_string(value)); }
    template <class Integers> void list(const char *key, const Integers &values);

    std::string finish() &&; // closes the outermost object

private:
    void raw(const char *key, std::string_view value);
    void begin(const char *key); // separator, indentation and name of a value
    void open(const char *key, char bracket);

    Format format_;
    std::string text_;
    std::vector<char> brackets_; // what closes each open level
    bool first_ = true;          // of its level
};

template <class Integers> void Report::list(const char *key, const Integers &values) {
    const bool json = format_ == Format::json;
    std::string text;
    for (const auto value : values) {
        if (!text.empty())
            text += json ? ',' : ' ';
        text += std::to_string(value);
    }
    if (json)
        text.insert(0, 1, '[').push_back(']');
    raw(key, text);
}

} // namespace ct3d
