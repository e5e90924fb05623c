// SPDX-License-Identifier: MIT
// The command line of ct3d: arguments, and exit statuses.
#include "commands.hpp"
#include "values.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace ct3d::tool {
namespace {

constexpr uint64_t most_random = 10'000'000;

std::string default_backend() {
    const char *backend = std::getenv("CT3D_BACKEND");
    return backend != nullptr && *backend != '\0' ? backend : "cpu";
}

std::vector<std::string> values_and_all(const engine::Key &key) {
    std::vector<std::string> names;
    for (const engine::Value &value : key.values)
        names.emplace_back(value.name);
    names.emplace_back("all");
    return names;
}

// CLI11 would take "-1" for 2^64 - 1.
CLI::Option *add_natural(CLI::App &command, const std::string &name, uint64_t &value, uint64_t most,
                         const char *description) {
    const auto parse = [&value, name, most](const std::string &text) {
        const char *const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, value);
        if (error != std::errc{} || end != last || value > most)
            throw CLI::ValidationError(name, text + " is not a whole number up to " + std::to_string(most));
    };
    return command.add_option_function<std::string>(name, parse, description)->default_str(std::to_string(value));
}

std::string positive_refusal(const std::string &text) {
    double number = 0;
    const char *const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    const bool legal = error == std::errc{} && end == last && std::isfinite(number) && number > 0;
    return legal ? "" : text + " is not a positive number";
}

void add_json_file(CLI::App &command, std::string &path) {
    command.add_option("--json", path, "Write the JSON document")
        ->type_name("FILE")
        ->check([](const std::string &name) { return std::string(name.empty() ? "the file has no name" : ""); });
}

void add_cases(CLI::App &command, CaseOptions &options) {
    options.backend = default_backend();
    command.add_option("CASE", options.lines,
                       "name N Cin Cout D,H,W kernel stride padding output_padding dilation "
                       "groups [key=value ...], quoted as one argument");
    command.add_option("--cases", options.files, "A file with a case per line")
        ->type_name("FILE")
        ->allow_extra_args(false); // one file: a case may follow
    command.add_option("--backend", options.backend, "Default: CT3D_BACKEND, or cpu")
        ->check(CLI::IsMember({"cpu", "cuda", "hip", "all"}));
    command.add_option("--kernel", options.kernel, "A kernel by name, or all that take the case");
    for (const engine::Key &key : engine::keys())
        command
            .add_option_function<std::string>(
                std::string("--") + key.name,
                [&options, name = key.name](const std::string &v) { options.selectors[name] = v; },
                "Of every case, in place of its own")
            ->check(CLI::IsMember(values_and_all(key)));
}

void add_max_memory(CLI::App &command, double &gigabytes) {
    command.add_option("--max-memory", gigabytes, "Cases that need more are skipped")
        ->type_name("GB")
        ->check(positive_refusal)
        ->capture_default_str();
}

} // namespace

// Runs the command that the arguments name; returns the exit status.
int run_command(int argc, char **argv) {
    CLI::App app{"The 3-D transposed convolution: what would run, whether it is right, how fast it is"};
    app.require_subcommand(1);
    app.set_version_flag("--version", ct3d_version_string());

    bool json = false;
    CaseOptions plan_cases;
    CheckOptions check_options;
    BenchOptions bench_options;
    CLI::App &info_command = *app.add_subcommand("info", "Version, backends and devices");
    info_command.add_flag("--json", json, "Print the JSON document");

    CLI::App &plan_command = *app.add_subcommand("plan", "What would run for each case");
    add_cases(plan_command, plan_cases);
    plan_command.add_flag("--json", json, "Print the JSON document");

    CLI::App &check_command = *app.add_subcommand("check", "Compare results with a reference in higher precision");
    add_cases(check_command, check_options.cases);
    add_natural(check_command, "--random", check_options.random_count, most_random, "Random cases to add")
        ->type_name("COUNT");
    add_natural(check_command, "--seed", check_options.seed, UINT64_MAX, "Seed of the random cases and of all data")
        ->type_name("S");
    add_max_memory(check_command, check_options.max_memory_gb);
    add_json_file(check_command, check_options.json);

    CLI::App &bench_command = *app.add_subcommand("bench", "Time each case with a cold cache");
    add_cases(bench_command, bench_options.cases);
    bench_command.add_option("--peer", bench_options.peer, "Time another library beside it: onednn")
        ->check(CLI::IsMember({"onednn"}));
    add_max_memory(bench_command, bench_options.max_memory_gb);
    add_json_file(bench_command, bench_options.json);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? all_passed : bad_usage;
    }
    if (info_command.parsed())
        return info(json);
    if (plan_command.parsed())
        return plan(plan_cases, json);
    return check_command.parsed() ? check(check_options) : bench(bench_options);
}

// A file opened while standard output is closed would take its place.
void require_output() {
    if (fcntl(STDOUT_FILENO, F_GETFD) == -1)
        throw engine::UsageError("standard output is closed");
}

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw engine::UsageError("standard output: cannot be written");
}

} // namespace ct3d::tool

int main(int argc, char **argv) {
    try {
        ct3d::tool::require_output();
        const int status = ct3d::tool::run_command(argc, argv);
        ct3d::tool::flush_output();
        return status;
    } catch (const ct3d::engine::UsageError &error) {
        std::fprintf(stderr, "ct3d: %s\n", error.what());
        return ct3d::tool::bad_usage;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ct3d: %s\n", error.what());
        return ct3d::tool::some_failed;
    }
}
