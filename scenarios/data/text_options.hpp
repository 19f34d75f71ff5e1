// Options that text sources share.
#pragma once

#include "scenarios/data/dataset.hpp"
#include "scenarios/data/text_split.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

/// lower_case, max_tokens, vocabulary and buckets.
/// @param vocabulary its default
[[nodiscard]] std::vector<option_spec> token_options(std::int64_t vocabulary);
/// Checks these options and those of the split.
[[nodiscard]] std::vector<option_problem> check_texts(const option_values& options);
/// tokens: words or characters.
[[nodiscard]] option_spec token_kind_option(const char* fallback);
/// min_texts and max_users.
[[nodiscard]] std::vector<option_spec> user_options();

[[nodiscard]] token_settings read_token_settings(const option_values& options, token_kind kind);
/// The value of the option `tokens`.
[[nodiscard]] token_kind read_token_kind(const option_values& options);

/// Rejects names that are given but empty.
void check_named(const option_values& options, std::initializer_list<const char*> names,
                 std::vector<option_problem>& problems);
/// Excludes users by min_texts and max_users. Fails (kind usage) if none remains, none remains for training, or only
/// one label remains; `place` is the source in messages. Returns notes: how many users were left out.
[[nodiscard]] result<std::vector<std::string>> choose_users(text_table& table, const option_values& options,
                                                            const std::string& place);

/// Facts of the tokens that follow from the options (dataset_entry::facts).
[[nodiscard]] models::data_facts token_facts(const option_values& options, models::objective labels,
                                             std::uint32_t classes = 0);

/// Builds the population of a table and the reader of further texts into `to`; notes what the vocabulary omits and
/// anomalies of the parts (text_population.hpp). Fails (kind data) if a text for next-token prediction is so long that
/// a model's states at all its tokens would not fit into memory; `place` is the source in messages.
[[nodiscard]] result<void> settle_texts(const text_table& table, const option_values& options, const std::string& place,
                                        models::objective labels, std::uint32_t classes, const token_settings& tokens,
                                        dataset& made);

/// The error about a text that is not UTF-8.
[[nodiscard]] tl::unexpected<error> not_utf8(const std::string& place);

}  // namespace furlong::scenarios
