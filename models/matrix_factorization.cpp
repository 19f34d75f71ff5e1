// Matrix factorization: score = mean + user_bias + item_bias[i] + <user, item[i]> (Koren, Bell, Volinsky: "Matrix
// factorization techniques for recommender systems", Computer 2009). With squared error the score is a rating. Of
// implicit feedback, where only the order of scores counts, the loss is also
//
//   logistic  log(1 + e^s) - y s, with y = 1 for an interaction and 0 for an item without one
//   bpr       -log sigmoid(s_i - s_j) of an item i with an interaction and an item j without (Rendle, Freudenthaler,
//             Gantner, Schmidt-Thieme: "BPR: Bayesian personalized ranking from implicit feedback", UAI 2009)
//
// Tensors, in order: user (1 x rank, or clients x rank when `user_table`), user_bias (1 x 1 or clients x 1, optional),
// item (features x rank), item_bias (features x 1, optional), mean (1 x 1, optional).
#include <algorithm>
#include <optional>

#include "models/entries.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t absent = static_cast<std::size_t>(-1);

mf_loss loss_of(const option_values& options) {
  const auto& name = options.text("loss");
  return name == "bpr" ? mf_loss::pairs : name == "logistic" ? mf_loss::logistic : mf_loss::squared;
}

class matrix_factorization final : public model {
 public:
  matrix_factorization(const option_values& options, const data_facts& facts)
      : init_(static_cast<float>(options.number("init"))),
        normal_(options.text("init_distribution") == "normal"),
        initial_mean_(static_cast<float>(options.number("initial_mean"))),
        l2_(static_cast<float>(options.number("l2"))),
        l2_bias_(static_cast<float>(options.number("l2_bias"))),
        user_table_(options.flag("user_table")),
        objective_(facts.labels),
        loss_(loss_of(options)) {
    const auto rank = static_cast<std::uint32_t>(options.integer("rank"));
    const std::uint32_t users = user_table_ ? facts.clients : 1;
    const auto user_index = user_table_ ? row_index::by_client : row_index::none;
    std::vector<tensor_spec> specs;
    const auto add = [&](tensor_spec spec) {
      specs.push_back(std::move(spec));
      return specs.size() - 1;
    };
    user_ = add({"user", users, rank, user_index});
    if (options.flag("user_bias")) user_bias_ = add({"user_bias", users, 1, user_index});
    item_ = add({"item", facts.features, rank, row_index::by_feature});
    if (options.flag("item_bias")) item_bias_ = add({"item_bias", facts.features, 1, row_index::by_feature});
    if (options.flag("mean")) mean_ = add({"mean", 1, 1, row_index::none});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "matrix-factorization"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective_; }
  bool ranks_pairs() const override { return loss_ == mf_loss::pairs; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    if (tensor == mean_) {
      std::ranges::fill(values, initial_mean_);
    } else if (tensor == user_bias_ || tensor == item_bias_) {
      std::ranges::fill(values, 0.0F);
    } else if (normal_) {
      for (auto& value : values) value = init_ * stream.normal();
    } else {
      for (auto& value : values) value = stream.uniform(-init_, init_);
    }
  }

  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    const auto input = bind(weights, batch);
    const auto target = [&](std::size_t t) { return t == absent ? nullptr : out.data[t]; };
    mf_gradient g{target(user_), target(user_bias_), target(item_),  target(item_bias_),
                  target(mean_), &out.by_feature,    &out.by_client, user_table_};
    return kernels().mf_gradient_step(input, g);
  }

  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    kernels().mf_predict(bind(weights, batch), out.data());
  }

  bool affine_in(std::span<const std::size_t> tensors) const override {
    // <user, item> is linear in the user's vector, or in the items' rows: affine_in_rows(). What is linear is solved
    // for by least squares, which is of squared errors alone.
    return loss_ == mf_loss::squared &&
           std::ranges::none_of(tensors, [&](auto t) { return t == item_ || t == item_bias_; });
  }

  bool affine_in_rows(std::span<const std::size_t> tensors) const override {
    return loss_ == mf_loss::squared &&
           std::ranges::all_of(tensors, [&](auto t) { return t == item_ || t == item_bias_; });
  }

  void affine_design(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<const std::size_t> tensors, std::span<float> x, std::span<float> offset) const override {
    const auto is_fixed = [&](std::size_t t) { return t != absent && std::ranges::find(tensors, t) == tensors.end(); };
    const bool fixed_item_bias = is_fixed(item_bias_);
    const bool fixed_mean = is_fixed(mean_);
    const bool fixed_user_bias = is_fixed(user_bias_);
    const bool fixed_product = is_fixed(user_) && is_fixed(item_);
    const float* user = weights[user_].data;
    const auto rank = weights[item_].cols;
    float* next = x.data();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = batch.features[i];
      const float* item = weights[item_].row(row);
      offset[i] = 0.0F;
      if (fixed_item_bias) offset[i] += weights[item_bias_].data[row];
      if (fixed_mean) offset[i] += weights[mean_].data[0];
      if (fixed_user_bias) offset[i] += weights[user_bias_].data[0];
      if (fixed_product) offset[i] += static_cast<float>(kernels().dot(user, item, rank));
      for (const auto t : tensors) {
        if (t == user_ || t == item_)
          next = std::copy_n(t == user_ ? item : user, rank, next);
        else
          *next++ = 1.0F;  // a bias or the mean
      }
    }
  }

 private:
  mf_batch bind(std::span<const tensor_view> weights, const examples_view& batch) const {
    const auto data = [&](std::size_t t) -> const float* { return t == absent ? nullptr : weights[t].data; };
    // Of pairs, offsets of a slice are positions in the whole table.
    const auto first = batch.offsets.empty() ? 0 : batch.offsets.front();
    return {data(user_),
            data(user_bias_),
            data(item_),
            data(item_bias_),
            data(mean_),
            weights[item_].cols,
            batch.features.data() + first,
            batch.owners.empty() || !user_table_ ? nullptr : batch.owners.data(),
            batch.labels.data(),
            batch.size(),
            l2_,
            l2_bias_,
            loss_};
  }

  float init_;
  bool normal_;
  float initial_mean_;
  float l2_;
  float l2_bias_;
  bool user_table_;
  models::objective objective_;
  mf_loss loss_;
  std::size_t user_ = absent;
  std::size_t user_bias_ = absent;
  std::size_t item_ = absent;
  std::size_t item_bias_ = absent;
  std::size_t mean_ = absent;
  layout_ptr tensors_;
};

/// What does not fit together: the loss, the data and the tensors. Empty: nothing.
std::optional<error> misfit(const option_values& options, const data_facts& facts) {
  const auto refuse = [](const char* key, std::string reason, std::string fix) {
    return error{error::kind::usage, key, std::move(reason), std::move(fix)};
  };
  const auto& loss = options.text("loss");
  const bool ranking = facts.labels == objective::ranking;
  if (!ranking && facts.labels != objective::squared_error)
    return refuse("model.kind", "matrix-factorization needs ratings, and the data has none",
                  "choose a classifier or a dataset of ratings");
  if (!ranking && loss != "squared")
    return refuse("model.loss", "is \"" + loss + "\", which ranks items, and the data has ratings",
                  "write loss = \"squared\", or take the ratings as interactions (feedback = \"implicit\")");
  for (const char* name : {"user_bias", "mean"})
    if (loss == "bpr" && options.flag(name))
      return refuse(
          "model.loss",
          "is \"bpr\", of the differences between two items' scores, in which " + std::string(name) + " cancels",
          "set model." + std::string(name) + " = false");
  if (facts.features == 0) return error{error::kind::data, "data", "the dataset has no items", "check its files"};
  return std::nullopt;
}

}  // namespace

model_entry matrix_factorization_entry() {
  model_entry entry;
  entry.kind = "matrix-factorization";
  entry.doc = "Ratings or scores as <user, item> plus optional biases and mean.";
  entry.options = {
      integer_option("rank", 50, "Length of the user and item vectors.", {1, 4096}),
      flag_option("user_bias", false, "Add a bias per user (tensor user_bias)."),
      flag_option("item_bias", false, "Add a bias per item (tensor item_bias)."),
      flag_option("mean", false, "Add a global mean that is learned (tensor mean)."),
      number_option("initial_mean", 0.0, "Initial value of the mean, in rating units."),
      number_option("init", 0.05, "Vectors start uniform in (-init, init), or normal with this standard deviation.",
                    {0}),
      choice_option("init_distribution", "uniform", "Distribution of the initial vectors.", {"uniform", "normal"}),
      number_option("l2", 0.0, "Weight of the squared norms of the user and item vectors in the loss of each example.",
                    {0}),
      number_option("l2_bias", 0.0, "The same for the squared biases.", {0}),
      flag_option("user_table", false,
                  "Keep all user vectors in one shared table (clients x rank) instead of one vector per client."),
      choice_option("loss", "squared",
                    "Squared error; or of implicit feedback logistic, of interactions and drawn negatives, or bpr, of "
                    "pairs of the two.",
                    {"squared", "logistic", "bpr"}),
  };
  entry.build = [](const option_values& options, const data_facts& facts) -> result<std::shared_ptr<const model>> {
    if (auto why = misfit(options, facts)) return tl::unexpected(std::move(*why));
    return std::make_shared<matrix_factorization>(options, facts);
  };
  return entry;
}

}  // namespace furlong::models
