#include <algorithm>

#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/records.hpp"

namespace furlong::scenarios {

namespace {

/// A text or, if the record allows it, a share of all clients.
reading read_field(const record_spec& spec, const option_spec& option, const toml_value& value) {
  const bool or_share = std::ranges::find(spec.or_share, option.name) != spec.or_share.end();
  if (or_share && std::holds_alternative<std::int64_t>(value.data))
    return {std::nullopt, "is " + to_text(value) + ", which may mean a client or a share",
            "write \"" + to_text(value) + "\" for a client's number, or a share with a point"};
  if (!or_share || !std::holds_alternative<double>(value.data)) return read_value(option, value);
  auto share = option;
  share.type = option_type::number;
  return read_value(share, value);
}

void complete(const record_spec& spec, const std::string& name, option_values& values, draft& document) {
  for (const auto& option : spec.options) {
    if (values.has(option.name) || document.is_set(name + "." + option.name)) continue;
    if (option.fallback) values.set(option.name, *option.fallback);
    if (option.required) document.report(name + "." + option.name, "is missing", "add " + option.name + " = ...");
  }
}

option_values read_record(const record_spec& spec, const std::string& name, const std::string& origin,
                          const std::vector<toml_entry>& entries, draft& document) {
  option_values values;
  std::vector<std::string> known;
  for (const auto& option : spec.options) known.push_back(option.name);
  for (const auto& entry : entries) {
    const auto key = name + "." + entry.key;
    const auto option = std::ranges::find(spec.options, entry.key, &option_spec::name);
    if (option == spec.options.end()) {
      const auto near = nearest(entry.key, known);
      document.report_name({origin, {key, entry.at, entry.value}}, "unknown key",
                           near.empty() ? "[[" + spec.name + "]] has " + listed(known) : "did you mean " + near + "?");
      continue;
    }
    document.remember(key, origin, entry.value);
    auto read = read_field(spec, *option, entry.value);
    if (read.value)
      values.set(entry.key, std::move(*read.value));
    else
      document.report(key, std::move(read.why), std::move(read.fix));
  }
  complete(spec, name, values, document);
  return values;
}

void read_list(const record_spec& spec, const source_entry& written, draft& document) {
  const auto& [origin, entry] = written;
  document.remember(written);
  const auto* items = std::get_if<std::vector<toml_value>>(&entry.value.data);
  if (items == nullptr)
    return document.report(spec.name, "is " + to_text(entry.value) + ", must be a list of tables",
                           "write [[" + spec.name + "]]");
  for (std::size_t i = 0; i < items->size(); ++i) {
    const auto name = record_name(spec.name, i);
    document.remember(name, origin, (*items)[i]);
    if (const auto* entries = std::get_if<std::vector<toml_entry>>(&(*items)[i].data))
      document.records[spec.name].push_back(read_record(spec, name, origin, *entries, document));
    else
      document.report(name, "is " + to_text((*items)[i]) + ", must be a table", "write {...}");
  }
}

}  // namespace

void read_records(source_text& text, draft& document) {
  for (const auto& spec : schema_records()) {
    std::erase_if(text.values, [&](const source_entry& written) {
      if (written.entry.key == spec.name) read_list(spec, written, document);
      return written.entry.key == spec.name || written.entry.key.starts_with(spec.name + ".");
    });
    std::erase_if(text.tables, [&](const source_entry& written) {
      if (written.entry.key == spec.name)
        document.report_name(written, "is one table, and it may come several times", "write [[" + spec.name + "]]");
      return written.entry.key == spec.name || written.entry.key.starts_with(spec.name + ".");
    });
  }
}

}  // namespace furlong::scenarios
