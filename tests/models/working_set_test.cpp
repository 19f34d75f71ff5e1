// Computing on the rows that a client names gives, bit for bit, what computing on the whole model would.
#include "models/working_set.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "models/kernels/kernels.hpp"
#include "tests/models/model_cases.hpp"

BOOST_AUTO_TEST_SUITE(working_sets)

using namespace furlong;

namespace {

struct world {
  std::shared_ptr<const models::model> model;
  models::partition parts;
  models::shared_parameters shared;
  models::private_parameters own;
  models::examples data;
};

constexpr std::uint32_t items = 60;
constexpr std::uint32_t users = 9;

world make_world(bool table, bool pooled, std::vector<std::string> private_names) {
  const auto* entry = models::find_model("matrix-factorization");
  auto options = defaults(entry->options);
  for (const char* flag : {"user_bias", "item_bias", "mean"}) options.set(flag, true);
  options.set("rank", std::int64_t{7});
  options.set("l2", 0.02);
  options.set("user_table", table);
  world made{entry->build(options, {items, users, models::objective::squared_error}).value(), {}, {}, {}, {}};
  made.parts = models::split(made.model->tensors(), private_names).value();
  made.shared = models::shared_parameters(made.parts.shared);
  made.own = models::private_parameters(made.parts.private_);
  random_stream stream(31, purpose::test);
  for (auto& value : made.shared.values()) value = stream.uniform(-1.0F, 1.0F);
  for (auto& value : made.own.values()) value = stream.uniform(-1.0F, 1.0F);
  for (std::uint32_t i = 0; i < 23; ++i) {
    made.data.features.push_back(stream.below(items / 4) * 4);  // many repeat, most never occur
    made.data.labels.push_back(static_cast<float>(1 + stream.below(5)));
    if (pooled) made.data.owners.push_back(stream.below(users - 2) + 1);
  }
  return made;
}

/// The same training without gathering: all tensors whole, every element moved in every step.
class whole_model {
 public:
  whole_model(const world& of, std::uint32_t client) : of_(of), data_(of.data) {
    const auto& shape = *of.model->tensors();
    for (std::size_t t = 0; t < shape.count(); ++t) {
      const auto slot = of.parts.slots[t];
      const auto from = slot.is_private ? of.own.tensor(slot.tensor) : of.shared.tensor(slot.tensor);
      weights_.insert(weights_.end(), from.begin(), from.end());
    }
    start_ = weights_;
    if (data_.owners.empty()) data_.owners.assign(data_.labels.size(), client);
  }

  double step(std::size_t first, std::size_t last, std::span<const std::size_t> trained,
              const models::sgd_options& how) {
    const auto& shape = *of_.model->tensors();
    if (velocity_.empty()) velocity_.assign(weights_.size(), 0.0F);
    std::vector<float> gradient(weights_.size(), 0.0F);
    std::vector<float*> targets(shape.count(), nullptr);
    for (const auto t : trained) targets[t] = gradient.data() + shape.offset(t);
    std::vector<std::uint32_t> stamps[2] = {std::vector<std::uint32_t>(items), std::vector<std::uint32_t>(users)};
    auto touched = stamps[0];
    auto touched_users = stamps[1];
    models::gradient_views out{
        targets, {stamps[0].data(), touched.data(), 1, 0}, {stamps[1].data(), touched_users.data(), 1, 0}};
    std::vector<models::tensor_view> views;
    for (std::size_t t = 0; t < shape.count(); ++t)
      views.push_back({weights_.data() + shape.offset(t), shape[t].rows, shape[t].cols});
    const double loss = of_.model->gradient(views, data_.view().slice(first, last), out);
    for (const auto t : trained) move(t, gradient, how);
    return loss;
  }

  [[nodiscard]] std::span<const float> tensor(std::size_t t) const {
    const auto& shape = *of_.model->tensors();
    return std::span(weights_).subspan(shape.offset(t), shape[t].size());
  }
  void forget_velocity() { velocity_.clear(); }
  void reorder(std::span<const std::uint32_t> order) {
    models::examples other;
    other.append(data_.view(), order);
    data_ = other;
  }

 private:
  void move(std::size_t t, std::vector<float>& gradient, const models::sgd_options& how) {
    const auto& shape = *of_.model->tensors();
    const std::size_t at = shape.offset(t);
    if (how.proximal != 0.0F && !of_.parts.slots[t].is_private)
      for (std::size_t i = at; i < at + shape[t].size(); ++i) gradient[i] += how.proximal * (weights_[i] - start_[i]);
    if (how.momentum != 0.0F)
      models::kernels().descend_momentum(&weights_[at], &velocity_[at], &gradient[at], shape[t].size(), how.rate,
                                         how.momentum);
    else
      models::kernels().descend(&weights_[at], &gradient[at], shape[t].size(), how.rate);
  }

  const world& of_;
  models::examples data_;
  std::vector<float> weights_;
  std::vector<float> start_;
  std::vector<float> velocity_;
};

void check_same(const world& w, const models::working_set& compact, const whole_model& whole) {
  models::delta change;
  compact.difference(w.shared, change);
  const auto dense = models::to_dense(change);
  models::private_parameters own = w.own;
  compact.copy_private(own);
  for (std::size_t t = 0; t < w.model->tensors()->count(); ++t) {
    BOOST_TEST_CONTEXT((*w.model->tensors())[t].name) {
      const auto slot = w.parts.slots[t];
      const auto expected = whole.tensor(t);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (slot.is_private)
          BOOST_TEST(own.tensor(slot.tensor)[i] == expected[i]);
        else
          BOOST_TEST(dense.values_of(slot.tensor)[i] == expected[i] - w.shared.tensor(slot.tensor)[i]);
      }
    }
  }
}

void train_both(const world& w, models::working_set& compact, const models::sgd_options& how) {
  constexpr std::uint32_t client = 5;
  compact.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), client);
  whole_model whole(w, client);
  std::vector<std::uint32_t> order(w.data.labels.size());
  std::iota(order.begin(), order.end(), 0U);
  random_stream stream(32, purpose::test);
  // All tensors, then half of them frozen, on shuffled examples in batches of 4.
  const std::vector<std::size_t> all = w.parts.all_tensors;
  const std::vector<std::size_t> some = {0, 3};
  for (const auto* trained : {&all, &some, &all}) {
    stream.shuffle(std::span(order));
    compact.reorder(order);
    whole.reorder(order);
    compact.train_only(*trained);
    whole.forget_velocity();
    for (std::size_t first = 0; first < order.size(); first += 4) {
      const auto last = std::min(first + 4, order.size());
      BOOST_TEST(compact.step(compact.data().slice(first, last), how) == whole.step(first, last, *trained, how));
    }
  }
  check_same(w, compact, whole);
}

const models::sgd_options ways[] = {{0.3F, 0.0F, 0.0F}, {0.1F, 0.9F, 0.0F}, {0.3F, 0.0F, 0.4F}, {0.1F, 0.5F, 0.4F}};

}  // namespace

BOOST_AUTO_TEST_CASE(training_on_the_named_rows_is_training_on_the_whole_model) {
  models::working_set compact;  // reused: what one client leaves behind must not reach the next
  for (const auto& how : ways)
    for (const bool pooled : {false, true})
      for (const bool table : {false, true}) {
        BOOST_TEST_CONTEXT("momentum " << how.momentum << ", proximal " << how.proximal << ", pooled " << pooled
                                       << ", table " << table) {
          train_both(make_world(table, pooled, {}), compact, how);
        }
      }
}

BOOST_AUTO_TEST_CASE(private_tensors_train_alike_and_come_back_whole) {
  models::working_set compact;
  for (const auto& how : ways) {
    train_both(make_world(false, false, {"user", "user_bias"}), compact, how);
    // Rows of a private tensor that the examples do not name stay as they were.
    train_both(make_world(false, false, {"item_bias", "user"}), compact, how);
  }
}

// The equations of sgd_options in double precision. The gradient is what a step of SGD at rate 1 moves.
BOOST_AUTO_TEST_CASE(adam_and_adamw_keep_to_their_equations) {
  const auto w = make_world(true, false, {});
  const auto start = [&](models::working_set& on) {
    on.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 5);
    on.train_only(w.parts.all_tensors);
  };
  for (const auto kind : {models::local_optimizer::adam, models::local_optimizer::adamw}) {
    const bool decoupled = kind == models::local_optimizer::adamw;
    const models::sgd_options how{
        .rate = 0.05F, .optimizer = kind, .beta1 = 0.8F, .beta2 = 0.9F, .eps = 1e-3F, .weight_decay = 0.1F};
    models::working_set moved;
    models::working_set probe;
    start(moved);
    for (int life = 0; life < 2; ++life) {  // train_only() forgets the moments
      moved.train_only(w.parts.all_tensors);
      std::map<const float*, std::pair<double, double>> moments;
      for (std::size_t step = 1; step <= 4; ++step) {
        const auto batch = [&](models::working_set& on) { return on.data().slice(4 * (step - 1), 4 * step); };
        start(probe);
        for (std::size_t t = 0; t < moved.weights().size(); ++t)
          std::copy_n(moved.weights()[t].data, moved.weights()[t].size(), probe.weights()[t].data);
        probe.step(batch(probe), {.rate = 1.0F});
        std::vector<double> expected;
        for (std::size_t t = 0; t < moved.weights().size(); ++t)
          for (std::size_t i = 0; i < moved.weights()[t].size(); ++i) {
            const float* at = moved.weights()[t].data + i;
            const double before = *at;
            const double gradient = before - probe.weights()[t].data[i] + (decoupled ? 0.0 : 0.1 * before);
            auto& [m, v] = moments[at];
            m = 0.8 * m + 0.2 * gradient;
            v = 0.9 * v + 0.1 * gradient * gradient;
            const double step_of = m / (1 - std::pow(0.8, step)) / (std::sqrt(v / (1 - std::pow(0.9, step))) + 1e-3);
            expected.push_back((decoupled ? before - 0.05 * 0.1 * before : before) - 0.05 * step_of);
          }
        moved.step(batch(moved), how);
        std::size_t next = 0;
        for (const auto& view : moved.weights())
          for (std::size_t i = 0; i < view.size(); ++i) BOOST_TEST(std::abs(view.data[i] - expected[next++]) < 2e-5);
      }
    }
  }
}

// A step's gradient, with its terms, is scaled to the largest norm over the trained tensors; then the weights decay.
BOOST_AUTO_TEST_CASE(gradients_are_clipped_and_weights_decay_after_that) {
  const auto w = make_world(false, false, {"user"});
  const std::vector<std::size_t> some = {0, 2};
  for (const auto* trained : std::initializer_list<const std::vector<std::size_t>*>{&w.parts.all_tensors, &some})
    for (const float clip : {0.0F, 0.05F, 1e6F})
      for (const float decay : {0.0F, 0.1F}) {
        models::working_set moved;
        models::working_set probe;
        for (auto* on : {&moved, &probe}) {
          on->gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 5);
          on->train_only(*trained);
        }
        const models::gradient_term term{0.5F, probe.values(), w.parts.all_tensors};
        const models::gradient_term same{0.5F, moved.values(), w.parts.all_tensors};
        const auto before = std::vector(probe.values().data, probe.values().data + probe.size());
        probe.step(probe.data().slice(0, 4), {.rate = 1.0F}, {&term, 1});
        moved.step(moved.data().slice(0, 4), {.rate = 0.2F, .momentum = 0.5F, .weight_decay = decay, .clip = clip},
                   {&same, 1});
        double squared = 0.0;
        for (std::size_t i = 0; i < before.size(); ++i)
          squared += std::pow(double{before[i]} - probe.values().data[i], 2.0);
        const double factor = clip > 0.0F ? std::min(1.0, clip / std::sqrt(squared)) : 1.0;
        BOOST_TEST((clip == 0.05F) == (factor < 0.5));
        for (std::size_t t = 0; t < moved.weights().size(); ++t)
          for (std::size_t i = moved.offset(t); i < moved.offset(t) + moved.weights()[t].size(); ++i) {
            const bool moves = std::ranges::find(*trained, t) != trained->end();
            const double gradient = (double{before[i]} - probe.values().data[i]) * factor + decay * before[i];
            BOOST_TEST(std::abs(moved.values().data[i] - (before[i] - (moves ? 0.2 * gradient : 0.0))) < 2e-6);
          }
      }
}

BOOST_AUTO_TEST_CASE(only_named_rows_are_in_the_difference_each_once) {
  const auto w = make_world(true, true, {});
  models::working_set compact;
  compact.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 0);
  models::delta change;
  compact.difference(w.shared, change);
  const auto distinct = [](std::vector<std::uint32_t> ids) {
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  };
  for (std::size_t t = 0; t < change.pieces.size(); ++t) {
    const auto index = (*w.parts.shared)[t].index;
    BOOST_TEST(change.pieces[t].by_rows == (index != models::row_index::none));
    if (!change.pieces[t].by_rows) continue;
    const auto rows = change.rows_of(t);
    std::vector<std::uint32_t> sorted(rows.begin(), rows.end());
    std::ranges::sort(sorted);
    BOOST_TEST(sorted == distinct(index == models::row_index::by_feature ? w.data.features : w.data.owners));
  }
  for (const auto value : change.values) BOOST_TEST(value == 0.0F);  // nothing was trained yet
}

BOOST_AUTO_TEST_CASE(a_redrawn_private_tensor_is_what_a_new_client_draws) {
  const auto w = make_world(false, false, {"user"});
  models::working_set compact;
  compact.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 5);
  compact.reinitialize(0, {77, purpose::initialize_private, 0, 5, 0});
  std::vector<float> expected((*w.model->tensors())[0].size());
  w.model->initialize(0, random_stream(77, purpose::initialize_private, 0, 5, 0), expected);
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(compact.weights()[0].data[i] == expected[i]);
}

// The rows of a tensor indexed by feature are drawn as rows of the whole tensor: which ones a client names must not
// change what it draws for them.
BOOST_AUTO_TEST_CASE(redrawn_rows_are_those_of_the_whole_tensor) {
  const auto w = make_world(false, false, {});
  models::working_set compact;
  compact.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 5);
  const auto item = w.model->tensors()->find("item").value();
  compact.reinitialize(item, {77, purpose::initialize_private, 0, 5, static_cast<std::uint32_t>(item)});
  const auto& spec = (*w.model->tensors())[item];
  std::vector<float> whole(spec.size());
  w.model->initialize(item, random_stream(77, purpose::initialize_private, 0, 5, static_cast<std::uint32_t>(item)),
                      whole);
  for (std::size_t i = 0; i < w.data.features.size(); ++i) {
    const float* row = compact.weights()[item].row(compact.data().features[i]);
    BOOST_TEST(std::equal(row, row + spec.cols, &whole[w.data.features[i] * spec.cols]));
  }
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_not_finite_is_noticed) {
  const auto w = make_world(false, false, {"user"});
  models::working_set compact;
  compact.gather(*w.model, w.parts, w.shared, w.own, w.data.view(), 0);
  BOOST_TEST(compact.finite());
  for (const auto& view : compact.weights()) {
    const float before = view.data[view.size() - 1];
    view.data[view.size() - 1] = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(!compact.finite());
    view.data[view.size() - 1] = before;
  }
  BOOST_TEST(compact.finite());
}

BOOST_AUTO_TEST_CASE(sequences_and_values_keep_their_places) {
  const auto* entry = models::find_model("logistic-regression");
  const auto model = entry->build(defaults(entry->options), {50, 1, models::objective::logistic}).value();
  const auto parts = models::split(model->tensors(), {}).value();
  models::shared_parameters shared(parts.shared);
  std::iota(shared.values().begin(), shared.values().end(), 0.0F);
  const models::private_parameters own(parts.private_);
  const models::examples data{{40, 3, 40, 7}, {1, -2, 3, 4}, {0, 3, 3, 4}, {1, 0, 1}, {}};
  models::working_set compact;
  compact.gather(*model, parts, shared, own, data.view(), 0);
  BOOST_TEST(compact.weights()[0].rows == 3U);
  std::vector<float> local(3);
  model->predict(compact.weights(), compact.data(), local);
  BOOST_TEST(local == (std::vector<float>{50 + 40 - 6 + 120, 50, 50 + 28}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
