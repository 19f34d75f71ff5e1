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
  const auto& optimizer = facts.settings;
  return nlohmann::json{{"server",
                         {{"optimizer", name_of(optimizer.optimizer)},
                          {"lr", optimizer.lr},
                          {"momentum", optimizer.momentum},
                          {"beta1", optimizer.beta1},
                          {"beta2", optimizer.beta2},
                          {"eps", optimizer.eps},
                          {"initial_accumulator", optimizer.initial_accumulator},
                          {"bias_correction", optimizer.bias_correction}}},
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
  for (const auto& array : arrays) room.expect(array);
  for (const auto& array : arrays)
    for (const auto offset : room.place(array)) request.put(offset);
  request.put(std::span<const char>(facts));
}

void server_request::read_copies(large_floats& copies) const {
  memory_room room(copies);
  for (const auto& array : arrays) room.fetch(array);
}

}  // namespace furlong::scenarios
