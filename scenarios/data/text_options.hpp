// The options that sources of texts share.
#pragma once

#include "scenarios/data/dataset.hpp"
#include "scenarios/data/text_split.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

/// lower_case, max_tokens, vocabulary and buckets.
/// @param vocabulary its default
[[nodiscard]] std::vector<option_spec> token_options(std::int64_t vocabulary);
/// What is wrong with these and with the options of the split.
[[nodiscard]] std::vector<option_problem> check_texts(const option_values& options);
/// tokens: words or characters.
[[nodiscard]] option_spec token_kind_option(const char* fallback);
/// min_texts and max_users.
[[nodiscard]] std::vector<option_spec> user_options();

[[nodiscard]] token_settings read_token_settings(const option_values& options, token_kind kind);
/// What the option `tokens` says.
[[nodiscard]] token_kind read_token_kind(const option_values& options);

/// Refuses names that are given and empty.
void check_named(const option_values& options, std::initializer_list<const char*> names,
                 std::vector<option_problem>& to);
/// Leaves users out as min_texts and max_users say. Fails (kind usage) when none is left, or none to train, or only one
/// of the labels; `place` stands for the source.
[[nodiscard]] result<void> choose_users(text_table& of, const option_values& options, const std::string& place);

/// What the options say of the tokens (dataset_entry::facts).
[[nodiscard]] models::data_facts token_facts(const option_values& options, models::objective labels,
                                             std::uint32_t classes = 0);

/// Gives `to` the population that the options make of a table, and notes what its vocabulary leaves out and what is odd
/// about its parts (text_population.hpp). Fails (kind data) when a text whose tokens are to be predicted is so long
/// that a model's states at all of them would not fit into memory; `place` stands for the source.
[[nodiscard]] result<void> settle_texts(const text_table& table, const option_values& options, const std::string& place,
                                        models::objective labels, std::uint32_t classes, dataset& to);

/// Appends a list of options.
void add_options(std::vector<option_spec>& to, std::vector<option_spec> more);

/// The error about a text that is not UTF-8.
[[nodiscard]] tl::unexpected<error> not_utf8(const std::string& place);

}  // namespace furlong::scenarios
