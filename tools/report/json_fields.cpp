#include "tools/report/detail/json_fields.hpp"

#include <algorithm>
#include <limits>

namespace furlong::tools {

using nlohmann::ordered_json;

result<ordered_json> parse_object(std::string_view text, const std::string& place) {
  ordered_json parsed;
  try {
    parsed = ordered_json::parse(text);
  } catch (const ordered_json::exception& damage) {
    const auto* syntax = dynamic_cast<const ordered_json::parse_error*>(&damage);
    const auto where = syntax != nullptr ? " at byte " + std::to_string(syntax->byte) : std::string();
    return fail(error::kind::data, place, "is not valid JSON" + where,
                "restore the file, or delete what is damaged and run again");
  }
  if (!parsed.is_object()) return fail(error::kind::data, place, "is no JSON object");
  return parsed;
}

const ordered_json* json_fields::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const ordered_json* json_fields::find_object(const char* key) {
  const auto* found = find(key);
  if (found == nullptr || found->is_object()) return found;
  complain(key, "an object");
  return nullptr;
}

void json_fields::complain(std::string_view key, const std::string& wanted) {
  if (problem_) return;
  problem_ = error{error::kind::data, place_, "\"" + path_ + std::string(key) + "\" must be " + wanted, {}};
}

void json_fields::adopt(const json_fields& inner) {
  if (!problem_) problem_ = inner.problem_;
}

json_fields json_fields::enter(const ordered_json& inner, std::string_view key) const {
  return {inner, place_, path_ + std::string(key) + "."};
}

void json_fields::read(const char* key, std::uint64_t& to) {
  const auto* found = find(key);
  if (found == nullptr) return;
  if (!found->is_number_unsigned()) return complain(key, "a whole number of 0 or more");
  to = found->get<std::uint64_t>();
}

void json_fields::read(const char* key, std::optional<std::uint64_t>& to) {
  if (find(key) == nullptr) return;
  std::uint64_t value = 0;
  read(key, value);
  to = value;
}

void json_fields::read(const char* key, std::optional<double>& to) {
  const auto found = object_.find(key);
  if (found == object_.end()) return;
  if (!found->is_number() && !found->is_null()) return complain(key, "a number");
  // JSON has no other word for what is not finite.
  to = found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
}

void json_fields::read(const char* key, bool& to) {
  const auto* found = find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return complain(key, "true or false");
  to = found->get<bool>();
}

void json_fields::read(const char* key, std::optional<bool>& to) {
  if (find(key) == nullptr) return;
  bool value = false;
  read(key, value);
  to = value;
}

void json_fields::read(const char* key, std::string& to) {
  const auto* found = find(key);
  if (found == nullptr) return;
  if (found->is_string()) {
    to = found->get<std::string>();
  } else if (found->is_number()) {
    to = found->dump();
  } else {
    complain(key, "a text");
  }
}

void json_fields::read(const char* key, named_counts& to) {
  within(key, [&](json_fields& inner) {
    for (const auto& item : inner.object_.items()) {
      std::uint64_t count = 0;
      inner.read(item.key().c_str(), count);
      to.emplace_back(item.key(), count);
    }
  });
}

void json_fields::read(const char* key, std::map<std::string, bool, std::less<>>& to) {
  within(key, [&](json_fields& inner) {
    for (const auto& item : inner.object_.items()) inner.read(item.key().c_str(), to[item.key()]);
  });
}

void json_fields::read(const char* key, std::vector<std::uint64_t>& to) {
  const auto* found = find(key);
  if (found == nullptr) return;
  const auto is_count = [](const ordered_json& item) { return item.is_number_unsigned(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_count))
    return complain(key, "a list of whole numbers of 0 or more");
  to = found->get<std::vector<std::uint64_t>>();
}

void json_fields::read(const char* key, std::optional<staleness_figures>& to) {
  within(key, [&](json_fields& inner) {
    auto& figures = to.emplace();
    inner.read("mean", figures.mean);
    inner.read("p50", figures.p50);
    inner.read("p90", figures.p90);
    inner.read("max", figures.max);
  });
}

void json_fields::read(group_figures& to) {
  read("rmse", to.rmse);
  read("accuracy", to.accuracy);
  read("accuracy_words", to.accuracy_words);
  read("accuracy_no_end", to.accuracy_no_end);
  read("auc", to.auc);
  read("perplexity", to.perplexity);
  read("loss", to.loss);
  read("examples", to.examples);
  read("clients", to.clients);
}

void json_fields::read(const char* key, std::optional<evaluation_figures>& to) {
  within(key, [&](json_fields& groups) {
    auto& figures = to.emplace();
    for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
      groups.within(evaluation_groups[group].data(), [&](json_fields& of) { of.read(figures[group].emplace()); });
    if (figures == evaluation_figures{}) to.reset();  // no group was scored
  });
}

void json_fields::within(const char* key, const std::function<void(json_fields&)>& take) {
  const auto* found = find_object(key);
  if (found == nullptr) return;
  auto inner = enter(*found, key);
  take(inner);
  adopt(inner);
}

void json_fields::each(const char* key, const std::function<void(json_fields&)>& take) {
  const auto* found = find(key);
  if (found == nullptr) return;
  if (!found->is_array()) return complain(key, "a list of objects");
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto name = std::string(key) + "[" + std::to_string(i) + "]";
    if (!(*found)[i].is_object()) return complain(name, "an object");
    auto inner = enter((*found)[i], name);
    take(inner);
    adopt(inner);
  }
}

void json_fields::require(const char* key) {
  if (!problem_ && find(key) == nullptr)
    problem_ = error{error::kind::data, place_, "has no \"" + path_ + key + "\"", {}};
}

result<void> json_fields::check() const {
  if (problem_) return tl::unexpected(*problem_);
  return {};
}

}  // namespace furlong::tools
