#include <algorithm>
#include <functional>

#include "wire/control.hpp"
#include "wire/detail/control_fields.hpp"
#include "wire/detail/control_rules.hpp"
#include "wire/encode.hpp"

namespace furlong::wire {

namespace {

using namespace federated::protocol;
using detail::column_rule;
using detail::data_words;
using detail::fields;
using detail::part_of_entry;
using detail::text_words;

// Sum of what `part` makes of each entry.
template <class Entries, class Of>
std::size_t total(const Entries& entries, Of part) {
  std::size_t sum = 0;
  for (const auto& entry : entries) sum += part(entry);
  return sum;
}

std::size_t odds_of(const evaluation_scores& message) {
  return total(message.each, [](const auto& one) { return one.score.odds.size(); });
}

std::size_t metrics_of(const evaluation_scores& message) {
  std::size_t most = 0;
  for (const auto& each : message.each) most = std::max(most, each.score.metrics.size());
  return most;
}

std::size_t distances_of(const settled& message) {
  return total(message.each, [](const auto& one) { return one.distances.size(); });
}

std::size_t content_bytes(const letters& message) {
  return total(message.each, [](const auto& one) { return one.content.size(); });
}

// Words of a column with a T for each of so many entries.
template <class T>
constexpr std::size_t column_words(std::size_t entries) {
  return data_words(entries * sizeof(T));
}

// Counts the words of a message in addition to the envelope.
struct measuring {
  std::size_t words;

  void number(const auto& /*value*/, const auto& /*field*/) {}
  void text(const std::string& text, const auto& /*field*/, std::size_t /*limit*/, bool /*lines*/) {
    words += text_words(text);
  }
  void claim(const federated::store_claim& /*claim*/, const auto& /*field*/) {
    words += detail::words_of<schema::StoreClaim>;
  }
  void column(const auto& list, const auto& field) { each(list, field, std::identity()); }
  template <class Entry, class Of>
  void each(const std::vector<Entry>& list, const auto& /*field*/, Of /*of*/, column_rule /*rule*/ = {}) {
    words += column_words<part_of_entry<Of, const Entry>>(list.size());
  }
};

void odds(measuring& visitor, const evaluation_scores& message) {
  const auto total = odds_of(message);
  visitor.words += column_words<std::uint32_t>(message.each.size()) + column_words<float>(total) + data_words(total);
}

void metrics(measuring& visitor, const evaluation_scores& message) {
  visitor.words += column_words<models::metric_sum>(message.each.size() * metrics_of(message));
}

void distances(measuring& visitor, const settled& message) {
  if (const auto total = distances_of(message); total > 0)
    visitor.words += column_words<std::uint32_t>(message.each.size()) + column_words<float>(total);
}

void contents(measuring& visitor, const letters& message) {
  visitor.words += column_words<std::uint32_t>(message.each.size()) + data_words(content_bytes(message));
}

// Makes Data of a field.
template <class Builder, class Field>
capnp::byte* make_data(Builder& builder, const Field& field, std::size_t bytes) {
  return (builder.*field.put)(static_cast<unsigned>(bytes)).begin();
}

// Fills the struct of a message.
template <class Builder>
struct writing {
  Builder builder;

  template <class Value>
  void put(void (Builder::*set)(Value), auto value) {
    (builder.*set)(static_cast<Value>(value));
  }
  void number(auto value, const auto& field) { put(field.put, value); }
  void text(const std::string& text, const auto& field, std::size_t /*limit*/, bool /*lines*/) {
    (builder.*field.put)({text.c_str(), text.size()});
  }
  void claim(const federated::store_claim& claim, const auto& field) {
    writing<schema::StoreClaim::Builder> inside{(builder.*field.put)()};
    fields(inside, claim);
  }
  void column(const auto& list, const auto& field) { each(list, field, std::identity()); }
  template <class Entry, class Of>
  void each(const std::vector<Entry>& list, const auto& field, Of part, column_rule /*rule*/ = {}) {
    using value_type = part_of_entry<Of, const Entry>;
    auto* target = make_data(builder, field, list.size() * sizeof(value_type));
    for (const auto& entry : list) {
      const value_type value = std::invoke(part, entry);
      std::memcpy(target, &value, sizeof value);
      target += sizeof value;
    }
  }
};

template <class T>
std::uint32_t short_size(const T& list) {
  return static_cast<std::uint32_t>(list.size());
}

template <class Builder>
void odds(writing<Builder>& visitor, const evaluation_scores& message) {
  visitor.each(message.each, FURLONG_PART(EvaluationScores, OddsCounts),
               [](const auto& entry) { return short_size(entry.score.odds); });
  const auto total = odds_of(message);
  auto* predictions = make_data(visitor.builder, FURLONG_PART(EvaluationScores, Predictions), total * sizeof(float));
  auto* classes = make_data(visitor.builder, FURLONG_PART(EvaluationScores, Classes), total);
  for (const auto& each : message.each)
    for (const auto& [prediction, is_true] : each.score.odds) {
      std::memcpy(predictions, &prediction, sizeof prediction);
      predictions += sizeof prediction;
      *classes++ = is_true ? 1 : 0;
    }
}

template <class Builder>
void metrics(writing<Builder>& visitor, const evaluation_scores& message) {
  const std::size_t count = metrics_of(message);
  if (count == 0) return;
  const auto bytes_of_each = count * sizeof(models::metric_sum);
  visitor.builder.setMetricCount(static_cast<std::uint32_t>(count));
  auto* target =
      make_data(visitor.builder, FURLONG_PART(EvaluationScores, Metrics), message.each.size() * bytes_of_each);
  for (const auto& each : message.each) {
    const auto bytes = each.score.metrics.size() * sizeof(models::metric_sum);
    if (bytes > 0) std::memcpy(target, each.score.metrics.data(), bytes);  // clients without examples have none
    target += bytes_of_each;
  }
}

// Most runs report none: then both columns are absent.
template <class Builder>
void distances(writing<Builder>& visitor, const settled& message) {
  const auto total = distances_of(message);
  if (total == 0) return;
  visitor.each(message.each, FURLONG_PART(Settled, DistanceCounts),
               [](const auto& entry) { return short_size(entry.distances); });
  auto* target = make_data(visitor.builder, FURLONG_PART(Settled, Distances), total * sizeof(float));
  for (const auto& each : message.each) {
    const auto bytes = std::as_bytes(std::span(each.distances));
    target = std::copy_n(reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size(), target);
  }
}

template <class Builder>
void contents(writing<Builder>& visitor, const letters& message) {
  visitor.each(message.each, FURLONG_PART(Letters, Sizes), [](const auto& entry) { return short_size(entry.content); });
  auto* target = make_data(visitor.builder, FURLONG_PART(Letters, Contents), content_bytes(message));
  for (const auto& each : message.each) target = std::ranges::copy(each.content, target).out;
}

}  // namespace

std::size_t encoded_size(const control& message) {
  return std::visit(
      []<class Message>(const Message& content) {
        measuring visitor{detail::envelope_words + detail::words_of<typename detail::content_of<Message>::schema_type>};
        fields(visitor, content);
        return visitor.words * detail::word_bytes;
      },
      message);
}

result<encoded> encoder::encode(const control& message) {
  if (auto fits = detail::check(message); !fits) return tl::unexpected(fits.error());
  detail::frame out(encoded_size(message));
  std::visit(
      [&]<class Message>(const Message& content) {
        writing<typename detail::content_of<Message>::schema_type::Builder> visitor{
            detail::content_of<Message>::init(out.message())};
        fields(visitor, content);
      },
      message);
  return encoded(out.finish());
}

}  // namespace furlong::wire
