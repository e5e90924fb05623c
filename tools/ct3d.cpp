// SPDX-License-Identifier: MIT
// The command line of ct3d: arguments, and exit statuses.
#include "commands.hpp"
#include "values.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

namespace ct3d::tool {
namespace {

std::string default_backend() {
    const char *backend = std::getenv("CT3D_BACKEND");
    return backend != nullptr && *backend != '\0' ? backend : "cpu";
}

std::string value_list(const engine::Key &key) {
    std::string list;
    for (const engine::Value &value : key.values)
        list += std::string(value.name) + ", ";
    return list + "all";
}

void add_cases(CLI::App &command, CaseOptions &options) {
    options.backend = default_backend();
    command.add_option("CASE", options.lines,
                       "name N Cin Cout D,H,W kernel stride padding output_padding dilation "
                       "groups [key=value ...], quoted as one argument");
    command.add_option("--cases", options.files, "A file with a case per line")->type_name("FILE");
    command.add_option("--backend", options.backend, "cpu, cuda, hip, all (default: CT3D_BACKEND, or cpu)");
    command.add_option("--kernel", options.kernel, "A kernel by name, or all that take the case");
    for (const engine::Key &key : engine::keys())
        command.add_option_function<std::string>(
            std::string("--") + key.name,
            [&options, name = key.name](const std::string &v) { options.selectors[name] = v; }, value_list(key));
}

void add_max_memory(CLI::App &command, double &gigabytes) {
    command.add_option("--max-memory", gigabytes, "Cases that need more are skipped")
        ->type_name("GB")
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
    check_command.add_option("--random", check_options.random_count, "Random cases to add")->type_name("COUNT");
    check_command.add_option("--seed", check_options.seed, "Seed of the random cases and of all data")
        ->capture_default_str();
    add_max_memory(check_command, check_options.max_memory_gb);
    check_command.add_option("--json", check_options.json, "Write the JSON document")->type_name("FILE");

    CLI::App &bench_command = *app.add_subcommand("bench", "Time each case with a cold cache");
    add_cases(bench_command, bench_options.cases);
    bench_command.add_option("--peer", bench_options.peer, "Time another library beside it: onednn")
        ->check(CLI::IsMember({"onednn"}));
    add_max_memory(bench_command, bench_options.max_memory_gb);
    bench_command.add_option("--json", bench_options.json, "Write the JSON document")->type_name("FILE");

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

} // namespace ct3d::tool

int main(int argc, char **argv) {
    try {
        return ct3d::tool::run_command(argc, argv);
    } catch (const ct3d::engine::UsageError &error) {
        std::fprintf(stderr, "ct3d: %s\n", error.what());
        return ct3d::tool::bad_usage;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ct3d: %s\n", error.what());
        return ct3d::tool::some_failed;
    }
}
