#include "wire/detail/read_control.hpp"

#include <numeric>
#include <optional>
#include <utility>

#include "wire/detail/control_fields.hpp"
#include "wire/detail/control_rules.hpp"
#include "wire/detail/message_checker.hpp"

namespace furlong::wire::detail {

namespace {

// Copies a message out, and calls every getter that yields a text or Data once, because each call counts against the
// traversal limit. A message whose columns differ in length stays empty. No column is longer than the frame, so no
// message is much larger than its frame.
template <class Reader>
class reading {
 public:
  reading(Reader reader, message_checker& check) : reader_(reader), check_(check) {}

  template <class T>
  void number(T& value, const auto& field) {
    value = static_cast<T>(get(field));  // a number that is no enumerated value is found by control_rules
  }
  void text(std::string& text, const auto& field, std::size_t /*limit*/, bool /*lines*/) {
    const auto found = get(field);
    text.assign(found.cStr(), found.size());
  }
  void claim(federated::store_claim& claim, const auto& field) {
    reading<schema::StoreClaim::Reader> inside(get(field), check_);
    fields(inside, claim);
  }
  template <class T>
  void column(std::vector<T>& list, const auto& field) {
    const auto found = check_.column<T>(field.name(), get(field));
    list.assign(found.begin(), found.end());
  }
  template <class Entry, class Of>
  void each(std::vector<Entry>& list, const auto& field, Of part, column_rule rule = {}) {
    using value_type = part_of_entry<Of, Entry>;
    const auto data = get(field);
    if (rule.is_key) {
      entries_ = check_.column<value_type>(field.name(), data).size();
      fills_.insert(fills_.begin(), [this, &list] { list.resize(entries_); });
    } else if (rule.or_zeros && data.size() == 0) {
      return;
    } else {
      checks_.push_back([=, this] { check_.column<value_type>(field.name(), data, entries_); });
    }
    fills_.push_back([=, this, &list] {
      const auto values = as_values<value_type>(data);
      for (std::size_t i = 0; i < entries_; ++i) std::invoke(part, list[i]) = values[i];
    });
  }
  /// Does something once the lists have their entries, if the message is sound until then.
  void later(std::function<void()> work) { fills_.push_back(std::move(work)); }

  /// Reads a field.
  auto get(const auto& field) const { return (reader_.*field.get)(); }
  [[nodiscard]] message_checker& checker() { return check_; }

  /// Fills the lists.
  void finish() {
    for (const auto& fits : checks_) fits();
    for (const auto& fill : fills_)
      if (check_.sound()) fill();
  }

 private:
  Reader reader_;
  message_checker& check_;
  std::size_t entries_ = 0;
  std::vector<std::function<void()>> checks_;  // that columns have as many entries as the key
  std::vector<std::function<void()>> fills_;
};

// Whether the counts of all entries add up to the values that lie in a row.
template <class Counts>
bool add_up(message_checker& check, std::string_view field, const Counts& counts, std::size_t values) {
  if (!check.sound()) return false;
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total != values) check.report(field, std::to_string(total) + " in all", std::to_string(values));
  return total == values;
}

// Deals the odds of all clients out to them.
template <class Reader>
void odds(reading<Reader>& visitor, evaluation_scores& into) {
  visitor.later([&] {
    message_checker& check = visitor.checker();
    const auto counts = check.column<std::uint32_t>(
        "oddsCounts", visitor.get(FURLONG_PART(EvaluationScores, OddsCounts)), into.each.size());
    const auto predictions =
        check.column<float>("predictions", visitor.get(FURLONG_PART(EvaluationScores, Predictions)));
    const auto classes =
        check.column<std::uint8_t>("classes", visitor.get(FURLONG_PART(EvaluationScores, Classes)), predictions.size());
    if (!add_up(check, "oddsCounts", counts, predictions.size())) return;
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      auto& own = into.each[i].score.odds;
      own.reserve(counts[i]);
      for (const std::size_t end = next + counts[i]; next < end; ++next) {
        check.below("classes", classes[next], 2);
        own.emplace_back(predictions[next], classes[next] != 0);
      }
    }
  });
}

template <class Reader>
void metrics(reading<Reader>& visitor, evaluation_scores& into) {
  visitor.later([&] {
    message_checker& check = visitor.checker();
    const std::size_t count = visitor.get(FURLONG_FIELD(EvaluationScores, MetricCount));
    if (count > models::most_metrics)
      return check.report("metricCount", std::to_string(count), "at most " + std::to_string(models::most_metrics));
    const auto sums = check.column<models::metric_sum>("metrics", visitor.get(FURLONG_PART(EvaluationScores, Metrics)),
                                                       into.each.size() * count);
    if (!check.sound() || count == 0) return;
    for (std::size_t i = 0; i < into.each.size(); ++i) {
      const auto own = sums.subspan(i * count, count);
      if (into.each[i].score.examples > 0) into.each[i].score.metrics.assign(own.begin(), own.end());
    }
  });
}

// Deals the distances of all tasks out to them.
template <class Reader>
void distances(reading<Reader>& visitor, settled& into) {
  visitor.later([&] {
    message_checker& check = visitor.checker();
    const auto counts = check.column_or_zeros<std::uint32_t>(
        "distanceCounts", visitor.get(FURLONG_PART(Settled, DistanceCounts)), into.each.size());
    const auto values = check.column<float>("distances", visitor.get(FURLONG_PART(Settled, Distances)));
    if (!add_up(check, "distanceCounts", counts, values.size())) return;
    auto next = values.begin();
    for (std::size_t i = 0; i < counts.size(); next += counts[i++])
      into.each[i].distances.assign(next, next + static_cast<std::ptrdiff_t>(counts[i]));
  });
}

template <class Reader>
void contents(reading<Reader>& visitor, letters& into) {
  visitor.later([&] {
    message_checker& check = visitor.checker();
    const auto sizes =
        check.column<std::uint32_t>("sizes", visitor.get(FURLONG_PART(Letters, Sizes)), into.each.size());
    const auto found = visitor.get(FURLONG_PART(Letters, Contents));
    if (!check.sound()) return;
    const auto bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    if (bytes != found.size())
      return check.report("contents", std::to_string(found.size()) + " bytes", std::to_string(bytes));
    const auto* next = found.begin();
    for (std::size_t i = 0; i < sizes.size(); next += sizes[i++]) into.each[i].content.assign(next, next + sizes[i]);
  });
}

template <class Message>
result<control> read(schema::Message::Reader reader) {
  using content = content_of<Message>;
  // To Cap'n Proto, a message that has no content is one of zeros.
  if (!content::is_in(reader)) return unexpected_content(content::name, "nothing", "its content");
  Message found;
  message_checker check(content::name);
  reading<typename content::schema_type::Reader> visitor(content::get(reader), check);
  fields(visitor, found);
  visitor.finish();
  if (!check.sound()) return tl::unexpected(check.status().error());
  control whole(std::move(found));
  if (auto fits = detail::check(whole); !fits) return tl::unexpected(fits.error());
  return whole;
}

template <class... Messages>
result<control> read_any(schema::Message::Reader reader, const std::variant<Messages...>* /*of*/) {
  std::optional<result<control>> found;
  const auto read_as = [&]<class Message>(std::type_identity<Message>) {
    if (reader.which() == content_of<Message>::kind) found = read<Message>(reader);
  };
  (read_as(std::type_identity<Messages>{}), ...);
  if (found) return std::move(*found);
  return unexpected_content("message", "kind " + std::to_string(static_cast<unsigned>(reader.which())),
                            "a control message");
}

}  // namespace

bool is_control(schema::Message::Which kind) {
  return kind >= schema::Message::HELLO && kind <= schema::Message::LETTERS;
}

result<control> read_control(schema::Message::Reader reader) {
  return read_any(reader, static_cast<const control*>(nullptr));
}

}  // namespace furlong::wire::detail
