// SPDX-License-Identifier: MIT
#include "judgement.hpp"

#include <cstdio>

namespace ct3d::engine {

Judgement::Judgement(const char *tensor, const Rules &rules)
    : tensor_(tensor), rules_(rules), parts_(static_cast<size_t>(workers())) {}

void Judgement::add(int worker, const Index &index, const Exact &exact, double got) {
    Part &part = parts_[static_cast<size_t>(worker)];
    const Verdict verdict = judge(rules_, exact, got);
    ++part.checked;
    part.wrong += !verdict.passed;
    if (counts_in_mean(rules_, exact)) {
        ++part.long_sums;
        part.mean_errors += verdict.error / (0x1p-24 * static_cast<double>(exact.magnitude));
    }
    if (const double s = share_of_bound(verdict);
        s > part.worst_share || (s == part.worst_share && index < part.worst.index)) {
        part.worst_share = s;
        part.worst = {tensor_, index, static_cast<double>(exact.value), got, verdict.bound, exact.products};
    }
}

void Judgement::add(const Verdicts &verdicts, const Index &index) {
    Part &part = parts_.emplace_back();
    part.checked = verdicts.checked;
    part.wrong = verdicts.wrong;
    part.worst_share = verdicts.worst_share;
    part.worst = {tensor_, index, verdicts.expected, verdicts.got, verdicts.bound, verdicts.products};
    part.long_sums = verdicts.long_sums;
    part.mean_errors = verdicts.mean_errors;
}

void Judgement::report(Result &result) const {
    Part all;
    for (const Part &part : parts_) {
        all.checked += part.checked;
        all.wrong += part.wrong;
        all.long_sums += part.long_sums;
        all.mean_errors += part.mean_errors;
        if (part.worst_share > all.worst_share ||
            (part.worst_share == all.worst_share && part.checked > 0 && part.worst.index < all.worst.index)) {
            all.worst_share = part.worst_share;
            all.worst = part.worst;
        }
    }
    result.checked += all.checked;
    result.wrong += all.wrong;
    if (all.checked > 0 && (all.wrong > 0 || !result.worst))
        result.worst = all.worst;
    if (result.status == Status::failed)
        return;
    char text[160] = "";
    const double mean = all.mean_errors / static_cast<double>(all.long_sums);
    if (all.wrong > 0)
        std::snprintf(text, sizeof text, "%lld of %lld checked elements of %s are wrong",
                      static_cast<long long>(all.wrong), static_cast<long long>(all.checked), tensor_);
    else if (all.long_sums >= mean_outputs && !(mean <= mean_limit))
        std::snprintf(text, sizeof text, "mean error of %s is %.3f u M over %lld elements, above %.1f", tensor_, mean,
                      static_cast<long long>(all.long_sums), mean_limit);
    if (*text) {
        result.status = Status::failed;
        result.reason = text;
    }
}

} // namespace ct3d::engine
