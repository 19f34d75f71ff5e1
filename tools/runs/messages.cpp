#include "tools/runs/messages.hpp"

#include <spdlog/pattern_formatter.h>

#include "base/plain_text.hpp"

namespace furlong::tools {

namespace {

class clean_text final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&, spdlog::memory_buf_t& out) override {
    const auto text = for_people({line.payload.data(), line.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<clean_text>(); }
};

}  // namespace

std::string for_people(std::string_view text) { return for_terminal(text, text.size()); }

std::unique_ptr<spdlog::formatter> log_format() {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<clean_text>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%l] %*");
  return made;
}

}  // namespace furlong::tools
