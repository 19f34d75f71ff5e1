// What is known of a model that a Python class describes without the class: its parameters and metrics. Servers and
// aggregators need no more of it; who trains it has the model that comes with the data.
#include <charconv>
#include <stdexcept>

#include "models/entries.hpp"
#include "models/layout.hpp"

namespace furlong::models {

namespace {

constexpr std::string_view buffer_mark = " buffer";

class described_model final : public model {
 public:
  described_model(layout_ptr tensors, std::vector<model_metric> metrics)
      : tensors_(std::move(tensors)), metrics_(std::move(metrics)) {}

  std::string_view kind() const override { return "python"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::custom; }
  std::span<const model_metric> metrics() const override { return metrics_; }
  void initialize(std::size_t, random_stream, std::span<float>) const override { refuse(); }
  double gradient(std::span<const tensor_view>, const examples_view&, gradient_views&) const override { refuse(); }
  void predict(std::span<const tensor_view>, const examples_view&, std::span<float>) const override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("a model without its Python class was to compute"); }

  layout_ptr tensors_;
  std::vector<model_metric> metrics_;
};

error wrong(const char* option, const std::string& text, const char* form) {
  return {error::kind::usage, std::string("model.") + option, "has \"" + text + "\"", std::string("write ") + form};
}

/// A number of 1 or more in decimal digits; 0: it is none.
std::uint32_t extent_of(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return code == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

result<std::shared_ptr<const model>> build(const option_values& options, const data_facts&) {
  if (!options.has("parameters") || options.list("parameters").empty())
    return fail(error::kind::usage, "model.kind", "is a Python class, and the data come from none",
                "set data.source = \"python\" and python.problem");
  constexpr auto form = "\"NAME ROWSxCOLUMNS\" or \"NAME ROWSxCOLUMNS buffer\"";
  std::vector<tensor_spec> specs;
  for (const auto& text : options.list("parameters")) {
    const bool is_buffer = text.ends_with(buffer_mark);
    const auto sizes = std::string_view(text).substr(0, text.size() - (is_buffer ? buffer_mark.size() : 0));
    const auto space = sizes.rfind(' ');
    const auto separator = sizes.rfind('x');
    if (space == std::string_view::npos || separator == std::string_view::npos || separator < space)
      return tl::unexpected(wrong("parameters", text, form));
    specs.push_back({.name = std::string(sizes.substr(0, space)),
                     .rows = extent_of(sizes.substr(space + 1, separator - space - 1)),
                     .cols = extent_of(sizes.substr(separator + 1)),
                     .exact = is_buffer,
                     .buffer = is_buffer});
    if (specs.back().rows == 0 || specs.back().cols == 0) return tl::unexpected(wrong("parameters", text, form));
  }
  std::vector<model_metric> metrics;
  if (options.has("metrics"))
    for (const auto& text : options.list("metrics")) {
      const auto space = text.find(' ');
      const auto direction = space == std::string::npos ? "" : text.substr(space + 1);
      if (direction != "max" && direction != "min")
        return tl::unexpected(wrong("metrics", text, "\"NAME max\" or \"NAME min\""));
      metrics.push_back({text.substr(0, space), direction == "min"});
    }
  if (metrics.size() > most_own_metrics)
    return fail(error::kind::usage, "model.metrics", "has more than " + std::to_string(most_own_metrics) + " metrics",
                "remove some");
  return std::make_shared<const described_model>(std::make_shared<const layout>(std::move(specs)), std::move(metrics));
}

}  // namespace

std::vector<std::string> described_parameters(const model& described) {
  std::vector<std::string> texts;
  for (const auto& spec : described.tensors()->tensors())
    texts.push_back(spec.name + " " + std::to_string(spec.rows) + "x" + std::to_string(spec.cols) +
                    std::string(spec.buffer ? buffer_mark : ""));
  return texts;
}

std::vector<std::string> described_metrics(const model& described) {
  std::vector<std::string> texts;
  for (const auto& [name, smaller_is_better] : described.metrics())
    texts.push_back(name + (smaller_is_better ? " min" : " max"));
  return texts;
}

model_entry python_entry() {
  model_entry entry;
  entry.kind = "python";
  entry.doc =
      "The model of a Python class: an ordinary PyTorch module, or losses and gradients by numpy (docs/python.md). Its "
      "tensors are the parameters, by their own names.";
  entry.options = {
      {.name = "parameters",
       .type = option_type::text_list,
       .fallback = std::vector<std::string>(),
       .doc =
           "The class's parameters, \"NAME ROWSxCOLUMNS\" each, and its buffers, \"NAME ROWSxCOLUMNS buffer\". Written "
           "by furlong; the class must fit it."},
      {.name = "metrics",
       .type = option_type::text_list,
       .fallback = std::vector<std::string>(),
       .doc = "The class's metrics, \"NAME max\" or \"NAME min\" by the better direction. Written by furlong."},
  };
  entry.build = build;
  return entry;
}

}  // namespace furlong::models
