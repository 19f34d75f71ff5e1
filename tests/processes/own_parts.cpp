// The furlong command with parts as others register them: whose messages are longer than those of furlong's own parts,
// whose data name files, and which break their contract. FURLONG_PARTS_VERSION: their version; empty: the program's.
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "federated/aggregation/rule.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "tools/cli/main.hpp"

namespace {

using namespace furlong;
using federated::aggregate;
using federated::aggregation_rule;
using federated::aggregation_settings;

std::string version() {
  const char* given = std::getenv("FURLONG_PARTS_VERSION");
  return given == nullptr ? std::string() : given;
}

/// The uniform mean, in several copies and with constants that nobody needs.
class padded_mean : public aggregation_rule {
 public:
  padded_mean(std::unique_ptr<aggregation_rule> mean, std::size_t copies, std::size_t constants)
      : mean_(std::move(mean)), copies_(copies), constants_(constants) {}

  [[nodiscard]] std::size_t words() const override { return copies_ * mean_->words(); }
  std::optional<federated::rejection> encode(const models::delta& change, const federated::fold_context& of,
                                             std::span<std::int64_t> sum) override {
    for (std::size_t copy = 0; copy < copies_; ++copy)
      if (auto refused = mean_->encode(change, of, part(sum, copy))) return refused;
    return std::nullopt;
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    for (std::size_t copy = 0; copy < copies_; ++copy) mean_->report(part(sum, copy), out);
    out.reference.assign(constants_, 0.5);
  }

 private:
  [[nodiscard]] std::span<std::int64_t> part(std::span<std::int64_t> sum, std::size_t copy) const {
    return sum.subspan(copy * mean_->words(), mean_->words());
  }

  std::unique_ptr<aggregation_rule> mean_;
  std::size_t copies_;
  std::size_t constants_;
};

/// The uniform mean, which fails in the third round.
class failing_mean final : public padded_mean {
 public:
  explicit failing_mean(std::unique_ptr<aggregation_rule> mean) : padded_mean(std::move(mean), 1, 0) {}

  std::optional<federated::rejection> encode(const models::delta& change, const federated::fold_context& update,
                                             std::span<std::int64_t> sum) override {
    if (update.id.version == 2) throw std::runtime_error("no room");
    return padded_mean::encode(change, update, sum);
  }
};

federated::rule_entry failing() {
  auto entry = *federated::find_rule("uniform-mean");
  entry.kind = "failing";
  entry.version = version();
  entry.build = [mean = entry.build](const auto&... inputs) -> std::unique_ptr<aggregation_rule> {
    return std::make_unique<failing_mean>(mean(inputs...));
  };
  return entry;
}

/// @param later constants of all rounds but the first
federated::rule_entry padded(const char* kind, std::size_t copies, std::size_t first, std::size_t later) {
  auto entry = *federated::find_rule("uniform-mean");
  entry.kind = kind;
  entry.version = version();
  entry.build = [mean = entry.build, copies, later](const auto&... inputs) -> std::unique_ptr<aggregation_rule> {
    return std::make_unique<padded_mean>(mean(inputs...), copies, later);
  };
  entry.first_reference = [first](const aggregation_settings&, const models::layout&) {
    return std::vector<double>(first, 0.25);
  };
  return entry;
}

/// Synthetic ratings that pretend to be in files.
scenarios::dataset_entry tables() {
  auto entry = *scenarios::find_dataset("synthetic-ratings");
  entry.kind = "tables";
  entry.version = version();
  entry.options.push_back(required(text_option("path", std::nullopt, "A folder.")));
  entry.options.push_back({.name = "titles", .type = option_type::text, .doc = "A file.", .beside_file = true});
  entry.check = [](const option_values& options) -> std::vector<scenarios::option_problem> {
    if (options.text("path").empty()) return {{"path", "is empty", "name a folder"}};
    return {};
  };
  entry.build = [inner = entry.build](const option_values& options,
                                      const std::filesystem::path& root) -> result<scenarios::dataset> {
    if (const auto& file = options.text("titles"); !std::filesystem::exists(file))
      return fail(error::kind::data, file, "does not exist", "name another file");
    return inner(options, root);
  };
  return entry;
}

/// Matrix factorization whose rank is in a file.
models::model_entry sized() {
  auto entry = *models::find_model("matrix-factorization");
  entry.kind = "sized";
  entry.version = version();
  entry.options.push_back({.name = "shape", .type = option_type::text, .doc = "A file.", .beside_file = true});
  entry.build = [inner = entry.build](const option_values& options,
                                      const models::data_facts& facts) -> result<std::shared_ptr<const models::model>> {
    auto complete = options;
    std::int64_t rank = 0;
    if (std::ifstream file(options.text("shape")); !(file >> rank))
      return fail(error::kind::usage, "model.shape", "names no file with a rank", "name one");
    complete.set("rank", rank);
    return inner(complete, facts);
  };
  return entry;
}

}  // namespace

int main(int argc, char** argv) {
  federated::register_rule(padded("many-constants", 1, 200'000, 200'000));
  federated::register_rule(padded("two-words", 2, 0, 0));
  federated::register_rule(padded("odd-constants", 1, 3, 4));
  federated::register_rule(failing());
  scenarios::register_dataset(tables());
  models::register_model(sized());
  return tools::main(argc, argv);
}
