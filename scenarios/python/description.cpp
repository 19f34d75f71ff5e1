#include "scenarios/python/description.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/python/algorithm_description.hpp"
#include "scenarios/python/trainer_setup.hpp"

namespace furlong::scenarios {

namespace {

using ordered_json = nlohmann::ordered_json;  // metrics keep their order

problem_client read_client(const ordered_json& reply) {
  const auto group = reply.at("group").get<std::string>();
  using kind = problem_client::group_kind;
  problem_client client{reply.at("name").get<std::string>(),
                        group == "train"        ? kind::train
                        : group == "validation" ? kind::validation
                                                : kind::test,
                        {}};
  std::size_t part = 0;
  for (const char* name : {"train", "validation", "test"}) client.sizes[part++] = reply.at(name).get<std::uint32_t>();
  return client;
}

problem_description read_parts(const ordered_json& reply) {
  problem_description made;
  for (const auto& parameter : reply.at("parameters"))
    made.parameters.push_back({parameter.at("name").get<std::string>(),
                               parameter.at("shape").get<std::vector<std::uint32_t>>(),
                               parameter.value("buffer", false)});
  for (const auto& [name, direction] : reply.at("metrics").items())
    made.metrics.push_back({name, direction.get<std::string>() == "min"});
  made.predicts = reply.value("predicts", false);
  made.has_labels = reply.value("labels", false);
  made.scores_clients = reply.contains("per_client") && !reply.at("per_client").empty();
  made.has_gradient = reply.value("gradient", true);
  made.fits = reply.value("fit", false);
  made.plain = reply.value("plain", false);
  if (reply.contains("clients"))
    for (const auto& client : reply.at("clients")) made.clients.push_back(read_client(client));
  made.options = read_options(reply.at("options"));
  if (reply.contains("algorithm")) made.algorithm = read_algorithm(reply.at("algorithm"));
  for (const auto& constant : reply.at("constants"))
    made.constants.push_back({constant.at("name").get<std::string>(),
                              find_type(constant.at("dtype").get<std::string>()),
                              constant.at("shape").get<std::vector<std::uint32_t>>()});
  for (const auto& [alias, name] : reply.at("aliases").items())
    made.aliases.emplace_back(alias, name.get<std::string>());
  made.constants_sha256 = reply.at("constants_sha256").get<std::string>();
  made.arithmetic = reply.value("arithmetic", "");
  for (const auto& [name, digest] : reply.at("files").items()) made.code[name] = digest.get<std::string>();
  if (!made.constants_sha256.empty()) made.code[fixed_values] = made.constants_sha256;
  return made;
}

}  // namespace

result<problem_description> read_description(std::span<const std::byte> reply) {
  const auto* text = reinterpret_cast<const char*>(reply.data());
  const auto read = ordered_json::parse(text, text + reply.size(), nullptr, false);
  try {
    if (read.at("protocol").get<int>() != trainer_protocol)
      return fail(error::kind::usage, "python.interpreter",
                  "the package furlong speaks another version of the protocol",
                  "install the package of this version, or take another one out of PYTHONPATH");
    auto made = read_parts(read);
    if (made.metrics.size() > models::most_own_metrics)
      return tl::unexpected(
          not_understood("it has more than " + std::to_string(models::most_own_metrics) + " metrics"));
    const auto strange = std::ranges::find(made.constants, nullptr, &problem_constant::type);
    if (strange != made.constants.end())
      return tl::unexpected(not_understood("the type of " + strange->name + " is not known"));
    return made;
  } catch (const std::exception& wrong) {
    return tl::unexpected(not_understood(std::string("its description is not understood: ") + wrong.what()));
  }
}

result<void> check_same(const problem_description& first, const problem_description& later,
                        const std::string& problem) {
  auto files = later.code;
  files.erase(fixed_values);
  if (first.code.contains(fixed_values)) files[fixed_values] = first.code.at(fixed_values);
  if (const auto changed = changed_files(first.code, files); !changed.empty())
    return fail(
        error::kind::runtime, changed,
        "has changed since the class was opened, and a trainer that starts now would compute with other code than "
        "the others",
        "start again with one version of the file");
  if (first.arithmetic != later.arithmetic)
    return fail(error::kind::runtime, "python.devices",
                "two trainers compute differently: with " + first.arithmetic + ", and with " + later.arithmetic,
                "name devices of one kind");
  if (first.constants_sha256 != later.constants_sha256)
    return fail(error::kind::runtime, problem,
                "two trainers made other values of what is not trained (frozen parameters and buffers)",
                "let module() make them from torch's generator, which is seeded, or from a file that stays as it is");
  return {};
}

std::vector<std::size_t> constant_starts(std::span<const problem_constant> constants) {
  constexpr std::size_t aligned = 64;
  std::vector<std::size_t> starts{0};
  for (const auto& constant : constants) {
    const auto bytes = static_cast<std::size_t>(count_of(constant.shape)) * constant.type->bytes;
    starts.push_back(starts.back() + (bytes + aligned - 1) / aligned * aligned);
  }
  return starts;
}

result<std::vector<std::uint32_t>> example_starts(std::span<const problem_client> clients) {
  std::vector<std::uint32_t> starts{0};
  std::uint64_t total = 0;
  for (const auto& client : clients)
    for (const auto size : client.sizes) {
      total += size;
      if (total > UINT32_MAX)
        return tl::unexpected(not_understood("the clients have more than 4,294,967,295 examples together"));
      starts.push_back(static_cast<std::uint32_t>(total));
    }
  return starts;
}

}  // namespace furlong::scenarios
