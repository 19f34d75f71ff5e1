#include "bench/lm_work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace furlong::bench {

namespace {

using sentence = std::vector<std::uint32_t>;

constexpr float rate = 0.01F;
constexpr float momentum = 0.5F;
constexpr std::size_t compared_steps = 5;

void append(const sentence& words, models::examples& to) {
  to.features.push_back(models::start_token);
  to.features.insert(to.features.end(), words.begin(), words.end());
  to.features.push_back(models::end_token);
  to.offsets.push_back(static_cast<std::uint32_t>(to.features.size()));
  to.labels.push_back(0.0F);
}

text read_treebank(std::istream& file) {
  std::map<std::string, std::size_t> counts;
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    auto& made = lines.emplace_back();
    for (std::string word; words >> word;) {
      if (word != "<unk>") ++counts[word];
      made.push_back(std::move(word));
    }
    if (made.empty()) lines.pop_back();
  }
  std::vector<std::pair<std::string, std::size_t>> ranked(counts.begin(), counts.end());
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::string, std::uint32_t> numbers = {{"<unk>", models::unknown_token}};
  for (const auto& [word, count] : ranked)
    numbers.emplace(word, models::first_word + static_cast<std::uint32_t>(numbers.size()) - 1);
  text made{"ptb", models::first_word + static_cast<std::uint32_t>(ranked.size()), {}};
  made.sentences.offsets.push_back(0);
  for (const auto& line : lines) {
    sentence words;
    for (const auto& word : line) words.push_back(numbers.at(word));
    append(words, made.sentences);
  }
  return made;
}

text make_text() {
  text made{"synthetic", models::first_word + 9999, {}};
  made.sentences.offsets.push_back(0);
  random_stream stream(1, purpose::test);
  const double top = std::log(9999.0);
  for (int i = 0; i < 20'000; ++i) {
    // Treebank sentences have 21 words, give or take 10.
    const auto length = std::max(1.0F, std::round(21.0F + 10.0F * stream.normal()));
    sentence words;
    for (float w = 0; w < length; ++w)
      words.push_back(models::unknown_token +
                      static_cast<std::uint32_t>(std::exp(top * static_cast<double>(stream.uniform()))));
    append(words, made.sentences);
  }
  return made;
}

template <class T>
void write_array(const std::filesystem::path& file, std::span<const T> values) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}

std::shared_ptr<const models::model> build_model(std::uint32_t words) {
  const auto* entry = models::find_model("gru-lm");
  auto options = defaults(entry->options);
  options.set("tied", true);
  return entry->build(options, {words, 1, models::objective::next_token, 0, words}).value();
}

}  // namespace

text load_text() {
  std::vector<std::filesystem::path> roots;
  if (const char* named = std::getenv("FURLONG_DATA"); named != nullptr && *named != '\0') roots.emplace_back(named);
  roots.insert(roots.end(), {"data", "../shared/data"});
  for (const auto& root : roots)
    if (std::ifstream file(root / "ptb/ptb.train.txt"); file) return read_treebank(file);
  return make_text();
}

std::unique_ptr<trainee> make_trainee(const text& from) {
  return std::make_unique<trainee>(build_model(from.words), from.sentences,
                                   models::sgd_options{.rate = rate, .momentum = momentum});
}

double operations_per_token(const models::layout& of) {
  double products = 0.0;
  for (const auto& spec : of.tensors())
    if (spec.rows > 1) products += static_cast<double>(spec.size());  // each weight once; the lookup is not a product
  return 6.0 * products;
}

void dump_work(const text& from, const std::vector<std::size_t>& batch_sizes, const std::filesystem::path& folder) {
  nlohmann::json facts;
  facts["source"] = from.source;
  facts["words"] = from.words;
  facts["rate"] = rate;
  facts["momentum"] = momentum;
  const auto first = make_trainee(from);
  for (const auto& spec : first->start().shape()->tensors())
    facts["tensors"].push_back({{"name", spec.name}, {"rows", spec.rows}, {"cols", spec.cols}});
  for (const auto size : batch_sizes) {
    const auto one = make_trainee(from);
    auto& losses = facts["losses"][std::to_string(size)];
    for (std::size_t i = 0; i < compared_steps; ++i) losses.push_back(one->step(i * size, (i + 1) * size));
  }
  write_array<std::uint32_t>(folder / "tokens.u32", from.sentences.features);
  write_array<std::uint32_t>(folder / "offsets.u32", from.sentences.offsets);
  write_array<float>(folder / "weights.f32", first->start().values());
  std::ofstream(folder / "facts.json") << facts;
}

}  // namespace furlong::bench
