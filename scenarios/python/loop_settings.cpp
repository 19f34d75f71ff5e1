#include "scenarios/python/loop_settings.hpp"

#include <nlohmann/json.hpp>

namespace furlong::scenarios {

namespace {

using float_json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

const char* name_of(models::local_optimizer optimizer) {
  switch (optimizer) {
    case models::local_optimizer::sgd: return "sgd";
    case models::local_optimizer::adam: return "adam";
    case models::local_optimizer::adamw: return "adamw";
  }
  return "";
}

}  // namespace

std::string text_of(const loop_settings& settings) {
  const auto& step = settings.step;
  float_json made{{"client",
                   {{"lr", step.rate},
                    {"epochs", settings.epochs},
                    {"batch_size", settings.batch_size},
                    {"max_steps", settings.max_steps},
                    {"shuffle", settings.shuffle},
                    {"momentum", step.momentum},
                    {"proximal", step.proximal},
                    {"optimizer", name_of(step.optimizer)},
                    {"beta1", step.beta1},
                    {"beta2", step.beta2},
                    {"eps", step.eps},
                    {"weight_decay", step.weight_decay},
                    {"clip", step.clip}}},
                  {"private_lr", step.private_rate.value_or(step.rate)},
                  {"private", settings.private_tensors},
                  {"rounds", settings.rounds},
                  {"dropout", settings.dropout}};
  if (settings.task) {
    made["training_clients"] = settings.task->training_clients;
    made["evaluation_batch"] = settings.task->evaluation_batch;
  }
  return made.dump();
}

}  // namespace furlong::scenarios
