#include "federated/ranking/figures.hpp"

#include <utility>

#include "models/forwarding_model.hpp"

namespace furlong::federated::ranking {

namespace {

/// One figure for each K.
void add_tops(const ranking_settings& settings, const std::string& name, figure_kind kind, bool full,
              std::vector<ranking_figure>& made) {
  for (std::size_t top = 0; top < settings.top.size(); ++top)
    made.push_back({name + "_" + std::to_string(settings.top[top]), kind, full, top});
}

void add_figures(const ranking_settings& settings, bool full, std::vector<ranking_figure>& made) {
  const std::string among = full ? "full_" : "sampled_";
  made.push_back({among + "mrr", figure_kind::reciprocal_rank, full});
  const auto add = [&](const char* name, figure_kind kind) { add_tops(settings, among + name, kind, full, made); };
  add("hr", figure_kind::hit);
  add("ndcg", figure_kind::ndcg);
  if (settings.one_held_out) return;  // recall and map are hr and mrr of K places then, and precision is hr / K
  add("recall", figure_kind::recall);
  add("precision", figure_kind::precision);
  add("map", figure_kind::map);
}

class ranked_model final : public models::forwarding_model<models::model> {
 public:
  ranked_model(std::shared_ptr<const models::model> like, const ranking_settings& settings)
      : forwarding_model(std::move(like)) {
    for (auto& figure : figures_of(settings))
      metrics_.push_back({std::move(figure.name), figure.kind == figure_kind::exposure});
  }

  models::objective objective() const override { return models::objective::ranking; }
  std::span<const models::model_metric> metrics() const override { return metrics_; }

 private:
  std::vector<models::model_metric> metrics_;
};

}  // namespace

std::vector<ranking_figure> figures_of(const ranking_settings& settings) {
  std::vector<ranking_figure> made;
  if (settings.full) add_figures(settings, true, made);
  if (settings.sampled) add_figures(settings, false, made);
  if (!settings.full) return made;
  add_tops(settings, "coverage", figure_kind::coverage, true, made);
  if (!settings.exposed.empty()) add_tops(settings, "exposure", figure_kind::exposure, true, made);
  return made;
}

std::shared_ptr<const models::model> rank_by(std::shared_ptr<const models::model> model,
                                             const ranking_settings& settings) {
  return std::make_shared<ranked_model>(std::move(model), settings);
}

}  // namespace furlong::federated::ranking
