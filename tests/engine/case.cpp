// SPDX-License-Identifier: MIT
#include "case.hpp"

#include "dtype.hpp"
#include "geometry.hpp"
#include "values.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

namespace ct3d::engine {
namespace {

using Triple = int64_t[3];

constexpr int64_t most_offset = 4096;

[[noreturn]] void refuse(const std::string &field, const std::string &why) {
    throw UsageError("CT3D_INVALID_ARGUMENT: " + field + ": " + why);
}

std::string quoted(std::string_view text) {
    std::string result(1, '"');
    result.append(text);
    return result += '"';
}

int64_t parse_integer(const std::string &field, std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        refuse(field, quoted(text) + " is not an integer");
    return value;
}

// One number for all axes, or three with commas.
void parse_triple(const std::string &field, std::string_view text, Triple &triple) {
    if (text.find(',') == std::string_view::npos) {
        std::fill_n(triple, 3, parse_integer(field, text));
        return;
    }
    for (int axis = 0; axis < 3; ++axis) {
        const size_t comma = text.find(',');
        if ((comma == std::string_view::npos) != (axis == 2))
            refuse(field, "needs one number or three");
        triple[axis] = parse_integer(field, text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
}

std::string triple_text(const Triple &triple) {
    const std::string first = std::to_string(triple[0]);
    if (triple[0] == triple[1] && triple[1] == triple[2])
        return first;
    return first + "," + std::to_string(triple[1]) + "," + std::to_string(triple[2]);
}

int32_t &key_field(ct3d_problem &p, std::string_view key) {
    if (key == "dtype")
        return p.dtype;
    if (key == "math")
        return p.math;
    if (key == "layout")
        return p.layout;
    if (key == "wlayout")
        return p.weights_layout;
    return key == "op" ? p.op : p.has_bias;
}

Case default_case() {
    Case c;
    ct3d_problem_init(&c.problem, sizeof c.problem);
    for (const Key &key : keys())
        set_key(c, key.name, value_name(key, key.fallback));
    return c;
}

void parse_option(Case &c, const std::string &word, std::set<std::string> &seen) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos)
        refuse(word, "is not key=value");
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (!seen.insert(key).second)
        refuse(key, "is given twice");
    if (key == "pad_end")
        parse_triple(key, value, c.problem.pad_end);
    else if (key == "offset") {
        const int64_t offset = parse_integer(key, value);
        if (offset < 0 || offset >= most_offset)
            refuse(key, value + " is not in 0.." + std::to_string(most_offset - 1));
        c.offset = static_cast<uint64_t>(offset);
    } else
        set_key(c, key, value);
}

std::vector<std::string> split(std::string_view line) {
    std::istringstream stream{std::string(line.substr(0, line.find('#')))};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

Case parse_words(const std::vector<std::string> &words) {
    constexpr const char *fields[] = {"name",   "batch",   "in_channels",    "out_channels", "in",    "kernel",
                                      "stride", "padding", "output_padding", "dilation",     "groups"};
    constexpr size_t count = std::size(fields);
    for (size_t i = 0; i < count; ++i)
        if (i >= words.size() || words[i].find('=') != std::string::npos)
            refuse(fields[i], "is missing");

    Case c = default_case();
    ct3d_problem &p = c.problem;
    c.name = words[0];
    int64_t *const numbers[] = {&p.batch, &p.in_channels, &p.out_channels};
    for (size_t i = 0; i < 3; ++i)
        *numbers[i] = parse_integer(fields[1 + i], words[1 + i]);
    Triple *const triples[] = {&p.in, &p.kernel, &p.stride, &p.pad_begin, &p.output_padding, &p.dilation};
    for (size_t i = 0; i < 6; ++i)
        parse_triple(fields[4 + i], words[4 + i], *triples[i]);
    p.groups = parse_integer(fields[10], words[10]);
    std::copy_n(p.pad_begin, 3, p.pad_end);
    std::set<std::string> seen;
    for (size_t i = count; i < words.size(); ++i)
        parse_option(c, words[i], seen);
    return c;
}

std::string value_list(const Key &key) {
    std::string list;
    for (const Value &value : key.values)
        list += (list.empty() ? "" : ", ") + std::string(value.name);
    return list;
}

} // namespace

Case parse_line(std::string_view line) {
    try {
        return parse_words(split(line));
    } catch (const UsageError &error) {
        throw UsageError(std::string(error.what()) + " (" + std::string(line) + ")");
    }
}

std::vector<Case> parse_file(const std::string &path) {
    std::ifstream file(path);
    if (!file)
        throw UsageError(path + ": cannot be read");
    std::vector<Case> cases;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        if (split(line).empty())
            continue;
        try {
            cases.push_back(parse_line(line));
        } catch (const UsageError &error) {
            throw UsageError(path + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    if (file.bad())
        throw UsageError(path + ": cannot be read");
    if (cases.empty())
        throw UsageError(path + ": no case in it");
    return cases;
}

std::string to_line(const Case &c) {
    const ct3d_problem &p = c.problem;
    std::ostringstream line;
    line << c.name << ' ' << p.batch << ' ' << p.in_channels << ' ' << p.out_channels;
    for (const Triple *triple : {&p.in, &p.kernel, &p.stride, &p.pad_begin, &p.output_padding, &p.dilation})
        line << ' ' << triple_text(*triple);
    line << ' ' << p.groups;
    if (!std::equal(p.pad_begin, p.pad_begin + 3, p.pad_end))
        line << " pad_end=" << triple_text(p.pad_end);
    for (const Key &key : keys())
        if (const int32_t value = key_value(c, key.name); value != key.fallback)
            line << ' ' << key.name << '=' << value_name(key, value);
    if (c.offset != 0)
        line << " offset=" << c.offset;
    return line.str();
}

void validate(const Case &c) {
    int64_t library_shape[5];
    const ct3d_status status = ct3d_output_shape(&c.problem, library_shape);
    if (status != CT3D_SUCCESS)
        throw UsageError(std::string(ct3d_status_string(status)) + ": " + ct3d_last_error() + " (" + to_line(c) + ")");
    if (c.offset % element_size(c.problem.dtype) != 0)
        refuse("offset", std::to_string(c.offset) + " is not a multiple of the element's size (" + to_line(c) + ")");
}

Case small_form(Case c) {
    ct3d_problem &p = c.problem;
    p.batch = std::min<int64_t>(p.batch, 2);
    for (int axis = 0; axis < 3; ++axis) {
        const int64_t whole = p.in[axis];
        p.in[axis] = std::min<int64_t>(whole, 8);
        if (output_extent(p, axis) < 1)
            p.in[axis] = whole;
    }
    return c;
}

int32_t key_value(const Case &c, std::string_view key) {
    if (key == "fill")
        return static_cast<int32_t>(c.fill);
    ct3d_problem problem = c.problem;
    return key_field(problem, key);
}

const char *key_value_name(const Case &c, std::string_view key) {
    return value_name(*find_key(key), key_value(c, key));
}

void set_key(Case &c, std::string_view key_name, std::string_view value_name) {
    const Key *key = find_key(key_name);
    if (key == nullptr)
        refuse(std::string(key_name), "is not a key of a case");
    const Value *value = find_value(*key, value_name);
    if (value == nullptr)
        refuse(std::string(key_name), quoted(value_name) + " is not one of " + value_list(*key));
    if (key_name == "fill")
        c.fill = static_cast<Fill>(value->number);
    else
        key_field(c.problem, key_name) = value->number;
}

const char *name(Fill fill) { return value_name(*find_key("fill"), static_cast<int32_t>(fill)); }

} // namespace ct3d::engine
