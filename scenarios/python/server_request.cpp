#include "scenarios/python/server_request.hpp"

#include <nlohmann/json.hpp>
#include <span>

namespace furlong::scenarios {

namespace {

const char* name_of(federated::optimizer_kind optimizer) {
  switch (optimizer) {
    case federated::optimizer_kind::sgd: return "sgd";
    case federated::optimizer_kind::adagrad: return "adagrad";
    case federated::optimizer_kind::adam: return "adam";
    case federated::optimizer_kind::yogi: return "yogi";
  }
  return "";
}

}  // namespace

std::string text_of(const server_facts& facts) {
  const auto& how = facts.settings;
  return nlohmann::json{{"server",
                         {{"optimizer", name_of(how.optimizer)},
                          {"lr", how.lr},
                          {"momentum", how.momentum},
                          {"beta1", how.beta1},
                          {"beta2", how.beta2},
                          {"eps", how.eps},
                          {"initial_accumulator", how.initial_accumulator},
                          {"bias_correction", how.bias_correction}}},
                        {"private", facts.private_tensors},
                        {"rounds", facts.rounds},
                        {"training_clients", facts.training_clients},
                        {"count", facts.count},
                        {"weight", facts.weight},
                        {"updates", facts.updates}}
      .dump();
}

void server_request::write(std::uint32_t round, request_buffer& request, large_floats& copies) const {
  request.clear();
  request.put(seed);
  for (const std::size_t number : {std::size_t{round}, arrays.size(), facts.size()})
    request.put(static_cast<std::uint32_t>(number));
  memory_room room(copies);
  for (const auto& one : arrays) room.expect(one);
  for (const auto& one : arrays)
    for (const auto offset : room.place(one)) request.put(offset);
  request.put(std::span<const char>(facts));
}

void server_request::read_copies(large_floats& copies) const {
  memory_room room(copies);
  for (const auto& one : arrays) room.fetch(one);
}

}  // namespace furlong::scenarios
