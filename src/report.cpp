// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace ct3d {

namespace {

std::string quoted(std::string_view value) {
    std::string text = "\"";
    for (const char c : value) {
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            text += escape;
        } else {
            text += c;
        }
    }
    return text + '"';
}

} // namespace

Report::Report(Format format) : format_(format) { open(nullptr, '}'); }

void Report::open_object(const char *key) { open(key, '}'); }
void Report::open_list(const char *key) { open(key, ']'); }
void Report::open_item() { open(nullptr, '}'); }

void Report::open(const char *key, char bracket) {
    if (format_ == Format::json) {
        if (!brackets_.empty())
            begin(key);
        text_ += bracket == '}' ? '{' : '[';
    } else if (key) {
        begin(key);
    }
    brackets_.push_back(bracket);
    first_ = true;
}

void Report::close() {
    if (format_ == Format::json)
        text_ += brackets_.back();
    brackets_.pop_back();
    first_ = false;
}

void Report::begin(const char *key) {
    if (format_ == Format::json) {
        if (!first_)
            text_ += ',';
        if (key)
            text_ += quoted(key) + ':';
    } else {
        if (!text_.empty())
            text_ += '\n';
        text_.append(2 * (brackets_.size() - 1), ' ');
        text_ += key;
        text_ += ':';
    }
    first_ = false;
}

void Report::raw(const char *key, std::string_view value) {
    begin(key);
    if (format_ == Format::text)
        text_ += ' ';
    text_ += value;
}

void Report::field(const char *key, std::string_view value) {
    raw(key, format_ == Format::json ? quoted(value) : std::string(value));
}

// Independent of the locale, whose decimal comma would break JSON; which has no infinities either.
void Report::field(const char *key, double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    raw(key, std::isfinite(value) ? std::string_view(text, static_cast<size_t>(end - text)) : "null");
}

std::string Report::finish() && {
    close();
    return std::move(text_);
}

} // namespace ct3d
