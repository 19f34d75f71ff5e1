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

// Sum of what `of` makes of each entry.
template <class Entries, class Of>
std::size_t total(const Entries& entries, Of of) {
  std::size_t sum = 0;
  for (const auto& entry : entries) sum += of(entry);
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

void odds(measuring& at, const evaluation_scores& message) {
  const auto all = odds_of(message);
  at.words += column_words<std::uint32_t>(message.each.size()) + column_words<float>(all) + data_words(all);
}

void metrics(measuring& at, const evaluation_scores& message) {
  at.words += column_words<models::metric_sum>(message.each.size() * metrics_of(message));
}

void distances(measuring& at, const settled& message) {
  if (const auto all = distances_of(message); all > 0)
    at.words += column_words<std::uint32_t>(message.each.size()) + column_words<float>(all);
}

void contents(measuring& at, const letters& message) {
  at.words += column_words<std::uint32_t>(message.each.size()) + data_words(content_bytes(message));
}

// Makes Data of a field.
template <class Builder, class Field>
capnp::byte* make_data(Builder& to, const Field& field, std::size_t bytes) {
  return (to.*field.put)(static_cast<unsigned>(bytes)).begin();
}

// Fills the struct of a message.
template <class Builder>
struct writing {
  Builder to;

  template <class Value>
  void put(void (Builder::*set)(Value), auto value) {
    (to.*set)(static_cast<Value>(value));
  }
  void number(auto value, const auto& field) { put(field.put, value); }
  void text(const std::string& text, const auto& field, std::size_t /*limit*/, bool /*lines*/) {
    (to.*field.put)({text.c_str(), text.size()});
  }
  void claim(const federated::store_claim& claim, const auto& field) {
    writing<schema::StoreClaim::Builder> inside{(to.*field.put)()};
    fields(inside, claim);
  }
  void column(const auto& list, const auto& field) { each(list, field, std::identity()); }
  template <class Entry, class Of>
  void each(const std::vector<Entry>& list, const auto& field, Of of, column_rule /*rule*/ = {}) {
    using value_type = part_of_entry<Of, const Entry>;
    auto* at = make_data(to, field, list.size() * sizeof(value_type));
    for (const auto& entry : list) {
      const value_type value = std::invoke(of, entry);
      std::memcpy(at, &value, sizeof value);
      at += sizeof value;
    }
  }
};

template <class T>
std::uint32_t short_size(const T& list) {
  return static_cast<std::uint32_t>(list.size());
}

template <class Builder>
void odds(writing<Builder>& at, const evaluation_scores& message) {
  at.each(message.each, FURLONG_PART(EvaluationScores, OddsCounts),
          [](const auto& of) { return short_size(of.score.odds); });
  const auto all = odds_of(message);
  auto* predictions = make_data(at.to, FURLONG_PART(EvaluationScores, Predictions), all * sizeof(float));
  auto* classes = make_data(at.to, FURLONG_PART(EvaluationScores, Classes), all);
  for (const auto& each : message.each)
    for (const auto& [prediction, is_true] : each.score.odds) {
      std::memcpy(predictions, &prediction, sizeof prediction);
      predictions += sizeof prediction;
      *classes++ = is_true ? 1 : 0;
    }
}

template <class Builder>
void metrics(writing<Builder>& at, const evaluation_scores& message) {
  const std::size_t count = metrics_of(message);
  if (count == 0) return;
  const auto bytes_of_each = count * sizeof(models::metric_sum);
  at.to.setMetricCount(static_cast<std::uint32_t>(count));
  auto* to = make_data(at.to, FURLONG_PART(EvaluationScores, Metrics), message.each.size() * bytes_of_each);
  for (const auto& each : message.each) {
    const auto bytes = each.score.metrics.size() * sizeof(models::metric_sum);
    if (bytes > 0) std::memcpy(to, each.score.metrics.data(), bytes);  // clients without examples have none
    to += bytes_of_each;
  }
}

// Most runs report none: then both columns are absent.
template <class Builder>
void distances(writing<Builder>& at, const settled& message) {
  const auto all = distances_of(message);
  if (all == 0) return;
  at.each(message.each, FURLONG_PART(Settled, DistanceCounts), [](const auto& of) { return short_size(of.distances); });
  auto* to = make_data(at.to, FURLONG_PART(Settled, Distances), all * sizeof(float));
  for (const auto& each : message.each) {
    const auto bytes = std::as_bytes(std::span(each.distances));
    to = std::copy_n(reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size(), to);
  }
}

template <class Builder>
void contents(writing<Builder>& at, const letters& message) {
  at.each(message.each, FURLONG_PART(Letters, Sizes), [](const auto& of) { return short_size(of.content); });
  auto* to = make_data(at.to, FURLONG_PART(Letters, Contents), content_bytes(message));
  for (const auto& each : message.each) to = std::ranges::copy(each.content, to).out;
}

}  // namespace

std::size_t encoded_size(const control& message) {
  return std::visit(
      []<class Message>(const Message& one) {
        measuring at{detail::envelope_words + detail::words_of<typename detail::content_of<Message>::schema_type>};
        fields(at, one);
        return at.words * detail::word_bytes;
      },
      message);
}

result<encoded> encoder::encode(const control& message) {
  if (auto fits = detail::check(message); !fits) return tl::unexpected(fits.error());
  detail::frame out(encoded_size(message));
  std::visit(
      [&]<class Message>(const Message& one) {
        writing<typename detail::content_of<Message>::schema_type::Builder> at{
            detail::content_of<Message>::init(out.message())};
        fields(at, one);
      },
      message);
  return encoded(out.finish());
}

}  // namespace furlong::wire
