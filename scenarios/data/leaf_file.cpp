#include "scenarios/data/leaf_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/detail/json_text.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_options.hpp"

namespace furlong::scenarios {

namespace {

using detail::contradict;
using detail::refuse;
namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* layout = R"(expected {"users": [...], "user_data": {"name": {"x": [...], "y": [...]}}})";

std::vector<fs::path> json_files(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

result<json> parse(const fs::path& file) {
  const auto mapped = open_text(file);
  if (!mapped) return tl::unexpected(mapped.error());
  const auto bytes = mapped->bytes();
  std::optional<std::string> repeated;
  try {
    auto document = detail::parse_members(without_byte_order_mark(bytes), repeated);
    if (!repeated) return document;
    return refuse(file.string(), "has " + shown(*repeated) + " twice in one object: only the last would be used",
                  "merge them, or remove one");
  } catch (const json::exception& why) {
    const auto* located = dynamic_cast<const json::parse_error*>(&why);
    if (located == nullptr)
      return refuse(file.string(), "has a number that no double holds", "write numbers below 1.8e308");
    // The byte position counts from 1; beyond the end it means that input is missing.
    const auto before = bytes.substr(0, located->byte - std::min<std::size_t>(located->byte, 1));
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return refuse(file.string() + ":" + std::to_string(line) + ":" + std::to_string(column),
                  located->byte > bytes.size() ? "is truncated JSON" : "is not JSON in UTF-8", layout);
  }
}

std::string place_of(const std::string& file, std::string_view user) { return file + ": user " + shown(user); }

result<std::vector<std::string>> names_of(const json& users, const std::string& file) {
  std::vector<std::string> names;
  for (const auto& user : users) {
    auto name = detail::text_of(user);
    if (!name) return refuse(file, "has " + detail::brief(user) + " in users", "name users by texts or whole numbers");
    names.push_back(std::move(*name));
  }
  return names;
}

/// The number of a user's samples; nothing if the format is invalid, which reading the user reports.
std::optional<std::size_t> samples_of(const json& data, const std::string& user) {
  const auto own = data.find(user);
  if (own == data.end() || !own->is_object() || !own->contains("y")) return std::nullopt;
  return (*own)["y"].size();
}

/// Users are listed in users, user_data and the optional num_samples, which must agree.
result<void> check_users(const std::vector<std::string>& users, const json& document, const json& data,
                         const std::string& file) {
  std::unordered_set<std::string_view> named;
  for (const auto& user : users)
    if (!named.insert(user).second)
      return refuse(place_of(file, user), "is twice in users, which would count its samples twice", "name it once");
  for (const auto& [user, own] : data.items())
    if (!named.contains(user))
      return refuse(place_of(file, user), "is in user_data but not in users", "name it there, or remove its samples");
  const auto counts = document.find("num_samples");
  if (counts == document.end()) return {};
  if (!counts->is_array() || counts->size() != users.size())
    return refuse(file, "has " + std::to_string(users.size()) + " users, and num_samples has not as many numbers",
                  "give it one for each user, or remove it");
  for (std::size_t i = 0; i < users.size(); ++i)
    if (const auto samples = samples_of(data, users[i]); samples && (*counts)[i] != *samples)
      return refuse(
          place_of(file, users[i]),
          "has " + std::to_string(*samples) + " samples, and " + detail::brief((*counts)[i]) + " by num_samples",
          "correct num_samples, or check for missing samples");
  return {};
}

/// Reads the samples of one file.
class leaf_reader {
 public:
  leaf_reader(const leaf_settings& settings, bool tested, const std::string& file, leaf_data& data)
      : settings_(settings), tested_(tested), file_(file), tokens_(settings.tokens), data_(data) {}

  result<void> take_user(const std::string& name, const json& data, const std::string& place) {
    const auto list = [&](const char* key) -> const json* {
      const auto found = data.is_object() ? data.find(key) : data.end();
      return data.is_object() && found != data.end() && found->is_array() ? &*found : nullptr;
    };
    const auto* const x = list("x");
    const auto* const y = list("y");
    if (x == nullptr || y == nullptr) return refuse(place, "has no lists x and y", layout);
    if (x->size() != y->size())
      return refuse(place, "has " + std::to_string(x->size()) + " x and " + std::to_string(y->size()) + " y",
                    "give every sample both");
    if (x->empty()) return refuse(place, "has no samples", "remove the user");
    const auto client = data_.table.clients.add(name);
    auto& files = tested_ ? data_.test_file_of : data_.train_file_of;
    files.resize(data_.table.clients.size());
    if (!files[client].empty())
      return refuse(place, "is in " + files[client] + " too, which may count samples twice",
                    "put all of a user's samples of one part into one file");
    files[client] = file_;
    if (client == data_.table.uses.size()) data_.table.uses.push_back(tested_ ? client_use::test : client_use::any);
    for (std::size_t i = 0; i < x->size(); ++i) {
      if (auto taken = take((*x)[i], (*y)[i], place + ", sample " + std::to_string(i)); !taken) return taken;
      data_.table.end_text(client);
      data_.table.tested.push_back(tested_);
    }
    return {};
  }

 private:
  result<void> take(const json& x, const json& y, const std::string& place) {
    switch (settings_.task) {
      case leaf_task::next_character: return take_sequence(x, y, place);
      case leaf_task::classes: return take_text(x, y, place);
      case leaf_task::vectors: return take_vector(x, y, place);
    }
    return {};
  }

  result<void> take_tokens(std::string_view text, const std::string& place) {
    const auto count = tokens_.append(text, data_.table);
    if (!count) return not_utf8(place);
    if (*count == 0) return refuse(place, "has an empty text", "remove the sample");
    return {};
  }

  result<void> take_sequence(const json& x, const json& y, const std::string& place) {
    if (!x.is_string() || !y.is_string())
      return contradict(place, "x and y are not both texts", "task = \"next-character\" needs texts as in shakespeare");
    return take_tokens(x.get<std::string>() + y.get<std::string>(), place);
  }

  result<void> take_text(const json& x, const json& y, const std::string& place) {
    const bool listed = x.is_array() && settings_.text_field < x.size();
    const auto& text = listed ? x[settings_.text_field] : x;
    if (!text.is_string())
      return contradict(place, "x is neither a text nor a list with a text at " + std::to_string(settings_.text_field),
                        "set data.text_field, or data.task");
    const auto written = detail::text_of(y);
    if (!written) return refuse(place, "y is no label", "expected a text or a whole number");
    const auto label = trimmed(*written);
    if (label.empty()) return refuse(place, "has no label", "remove the sample");
    if (auto taken = take_tokens(trimmed(text.get_ref<const std::string&>()), place); !taken) return taken;
    data_.label_of.push_back(data_.labels.add(label));
    return {};
  }

  /// Elements that are 0 are omitted.
  result<void> take_vector(const json& x, const json& y, const std::string& place) {
    if (!x.is_array() || x.empty() || !std::ranges::all_of(x, [](const json& of) { return of.is_number(); }))
      return contradict(place, "x is no list of numbers", "task = \"vectors\" needs one");
    if (!y.is_number() || (y != 0 && y != 1))
      return contradict(place, "y is " + detail::brief(y) + ", neither 0 nor 1",
                        "no model supports vectors of several classes");
    if (data_.dimension == 0) data_.dimension = static_cast<std::uint32_t>(x.size());
    if (x.size() != data_.dimension)
      return refuse(place,
                    "has " + std::to_string(x.size()) + " numbers, and others " + std::to_string(data_.dimension),
                    "give all vectors the same length");
    for (std::uint32_t i = 0; i < x.size(); ++i) {
      const auto value = x[i].get<float>();
      if (!std::isfinite(value))
        return refuse(place, "has " + detail::brief(x[i]) + " in x, more than a float holds", "scale the vectors");
      if (value == 0.0F) continue;
      data_.table.tokens.push_back(i);
      data_.table.values.push_back(value);
    }
    data_.table.labels.push_back(y.get<float>());
    return {};
  }

  const leaf_settings& settings_;
  bool tested_;
  const std::string& file_;
  tokenizer tokens_;
  leaf_data& data_;
};

}  // namespace

result<leaf_files> find_leaf_files(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return leaf_files{{path}, {}};
  auto train = json_files(path / "train");
  if (!train.empty()) return leaf_files{std::move(train), json_files(path / "test")};
  auto files = json_files(path);
  if (files.empty())
    return refuse(path.string(),
                  fs::is_directory(path, ignored) ? "has no *.json, and no folder train with any"
                                                  : "the file or folder does not exist",
                  "name a file that LEAF's scripts wrote, or the folder with them");
  return leaf_files{std::move(files), {}};
}

result<void> read_leaf(const fs::path& file, const leaf_settings& settings, bool tested, leaf_data& leaf) {
  const auto document = parse(file);
  if (!document) return tl::unexpected(document.error());
  const auto users = document->is_object() ? document->find("users") : document->end();
  const auto data = document->is_object() ? document->find("user_data") : document->end();
  if (!document->is_object() || users == document->end() || data == document->end() || !users->is_array() ||
      !data->is_object())
    return refuse(file.string(), "does not have the layout of LEAF", layout);
  if (users->empty()) return refuse(file.string(), "names no users", layout);
  const auto place = file.string();
  const auto names = names_of(*users, place);
  if (!names) return tl::unexpected(names.error());
  if (auto agree = check_users(*names, *document, *data, place); !agree) return agree;
  leaf_reader reader(settings, tested, place, leaf);
  for (const auto& name : *names) {
    const auto user = place_of(place, name);
    const auto own = data->find(name);
    if (own == data->end()) return refuse(user, "has no user_data", layout);
    if (auto taken = reader.take_user(name, *own, user); !taken) return taken;
  }
  return {};
}

}  // namespace furlong::scenarios
