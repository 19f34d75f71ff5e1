#include "tools/cli/command_line.hpp"

#include <charconv>

namespace furlong::tools {

namespace {

const std::map<std::string, output_format> formats = {{"text", output_format::text}, {"json", output_format::json}};
const std::vector<std::string> log_levels = {"trace", "debug", "info", "warn", "error", "off"};

}  // namespace

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high, const std::string& wanted) {
  return {[low, high, wanted](std::string& text) -> std::string {
            std::uint64_t number = 0;
            const auto* const end = text.data() + text.size();
            const auto [at, why] = std::from_chars(text.data(), end, number);
            if (text.empty() || at != end || why != std::errc() || number < low || number > high)
              return "\"" + text + "\" is " + wanted;
            text = std::to_string(number);  // the library would read a leading 0 as octal
            return {};
          },
          ""};
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return whole_number(low, high, "no whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

CLI::Validator seed_number() { return whole_number(0, INT64_MAX); }

CLI::Validator client_number() {
  return whole_number(0, UINT32_MAX, "no client's number; furlong store ls lists those of clients with private values");
}

void add_format(CLI::App* to, output_format& format) {
  to->add_option("--format", format, "text or json")->transform(one_of(formats))->option_text("text|json");
}

void add_overrides(CLI::App* to, std::vector<scenarios::setting_override>& overrides) {
  to->add_option_function<std::vector<std::string>>(
        "--set",
        [&overrides](const std::vector<std::string>& texts) {
          for (const auto& text : texts) {
            auto parsed = scenarios::parse_override(text);
            if (!parsed) throw CLI::ValidationError("--set", parsed.error().text());
            overrides.push_back(std::move(*parsed));
          }
        },
        "replace a key of the scenario; may be given often")
      ->option_text("key=value")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_log_level(CLI::App* to, std::string& level, const std::string& doc) {
  to->add_option("--log-level", level, doc)->check(CLI::IsMember(log_levels))->option_text("LEVEL");
}

}  // namespace furlong::tools
