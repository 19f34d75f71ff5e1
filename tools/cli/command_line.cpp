#include "tools/cli/command_line.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/parse_number.hpp"

namespace furlong::tools {

namespace {

const std::map<std::string, output_format> formats = {{"text", output_format::text}, {"json", output_format::json}};
const std::vector<std::string> log_levels = {"trace", "debug", "info", "warn", "error", "off"};

CLI::Validator word_among(const std::vector<std::string>& words) {
  return {[words](std::string& text) -> std::string {
            return std::ranges::find(words, text) != words.end() ? "" : none_of(text, words);
          },
          ""};
}

}  // namespace

std::string none_of(const std::string& text, const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return "\"" + text + "\" is none of these: " + list;
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high, const std::string& wanted) {
  return {[low, high, wanted](std::string& text) -> std::string {
            const auto number = parse_number<std::uint64_t>(text);
            if (!number || *number < low || *number > high) return "\"" + text + "\" is not " + wanted;
            text = std::to_string(*number);  // the library would read a leading 0 as octal
            return {};
          },
          ""};
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return whole_number(low, high, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

CLI::Validator seed_number() { return whole_number(0, INT64_MAX); }

CLI::Validator client_number() {
  return whole_number(0, UINT32_MAX,
                      "the number of a client; furlong store ls lists those of clients with private values");
}

CLI::Validator number_between(double low, double high) {
  return {[low, high](std::string& text) -> std::string {
            const auto number = parse_number<double>(text);
            if (number && *number >= low && *number <= high) return {};
            return "\"" + text + "\" is not " + fmt::format("a number from {} to {}", low, high);
          },
          ""};
}

CLI::Option* repeated(CLI::Option* option, const std::string& value) {
  return option->option_text(value)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_format(CLI::App* parser, output_format& format) {
  parser->add_option("--format", format, "text or json")->transform(one_of(formats))->option_text("text|json");
}

void add_overrides(CLI::App* parser, std::vector<scenarios::setting_override>& overrides) {
  const auto take = [&overrides](const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      auto parsed = scenarios::parse_override(text);
      if (!parsed) throw CLI::ValidationError(parsed.error().text());
      overrides.push_back(std::move(*parsed));
    }
  };
  repeated(parser->add_option_function<std::vector<std::string>>("--set", take,
                                                                 "replace a key of the scenario; may be given often"),
           "key=value");
}

void add_log_level(CLI::App* parser, std::string& level, const std::string& doc) {
  parser->add_option("--log-level", level, doc)->check(word_among(log_levels))->option_text("LEVEL");
}

void add_seed(CLI::App* parser, std::optional<std::uint64_t>& seed, const std::string& doc) {
  parser->add_option("--seed", seed, doc)->transform(seed_number())->option_text("N");
}

void add_threads(CLI::App* parser, std::size_t& threads, const std::string& doc) {
  parser->add_option("--threads", threads, doc)->transform(whole_number(1, 1024))->option_text("N");
}

CLI::Option* add_jobs(CLI::App* parser, std::size_t& jobs, const std::string& doc) {
  return parser->add_option("--jobs", jobs, doc)->transform(whole_number(1, 1024))->option_text("N");
}

void add_grid(CLI::App* parser, std::vector<grid_option>& grid) {
  auto texts = std::make_shared<std::map<bool, std::vector<std::string>>>();
  const auto* free =
      repeated(parser->add_option("--grid", (*texts)[false], "values of a key; several keys make every combination"),
               "key=v1,v2,...");
  const auto* with =
      repeated(parser->add_option("--with", (*texts)[true],
                                  "values of a further key that change together with those of the --grid "
                                  "before it, the first with the first"),
               "key=w1,w2,...");
  parser->parse_complete_callback([parser, texts, free, with, &grid] {
    std::map<bool, std::size_t> next;
    for (const auto* option : parser->parse_order())
      if (option == free || option == with) {
        const bool tied = option == with;
        grid.push_back({texts->at(tied).at(next[tied]++), tied});
      }
  });
}

void add_accept_changed_code(CLI::App* parser, bool& accepted) {
  parser->add_flag("--accept-changed-code", accepted,
                   "continue although the Python class or a registered part has changed since the beginning");
}

void add_many_runs(CLI::App* parser, many_runs_options& options, const std::string& seeds, const std::string& out) {
  auto& request = options.request;
  repeated(parser->add_option("--seeds", request.seeds, seeds)->delimiter(',')->transform(seed_number()), "N,N,...");
  add_overrides(parser, request.overrides);
  parser->add_option("--out", options.out, out)->option_text("DIR");
  add_jobs(parser, options.jobs, "runs at once (default: one per core)");
  add_threads(parser, options.threads, "scheduler threads of a run (default 1)");
  parser->add_flag("--smoke", request.smoke, "the small variant: the [smoke] table, else three rounds");
  add_accept_changed_code(parser, options.accept_changed_code);
  add_format(parser, options.format);
}

void add_trust(CLI::App* parser, trust_options& trust) {
  parser->add_option("--tls", trust.tls, "folder that `certs issue` made for this process")->option_text("DIR");
  parser->add_flag("--insecure", trust.insecure, "neither encrypt nor authenticate; on this machine only");
  parser->add_flag("--i-know", trust.i_know, "with --insecure: allow addresses other than loopback");
}

void add_give_up(CLI::App* parser, double& give_up) {
  parser->add_option("--give-up", give_up, "fail after so long without a session; 0: try forever (default 0)")
      ->check(number_between(0.0, 1e9))
      ->option_text("SECONDS");
}

}  // namespace furlong::tools
