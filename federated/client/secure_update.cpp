#include "federated/client/secure_update.hpp"

#include <algorithm>
#include <bit>

#include "base/random.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

crypto::random_source secret_source(const experiment& e, std::uint64_t version, std::optional<task_id> of) {
  if (e.settings.clock == clock_kind::real) return crypto::system_random();
  const auto client = of ? of->client : UINT32_MAX;
  const auto attempt = of ? of->attempt : 0;
  // Copies of the source continue one stream.
  const auto stream = std::make_shared<random_stream>(e.settings.seed, purpose::secure_aggregation,
                                                      static_cast<std::uint32_t>(version), client, attempt);
  return [stream](std::span<std::uint8_t> out) {
    for (auto& byte : out) byte = static_cast<std::uint8_t>((*stream)());
  };
}

digest terms_of(std::uint64_t run, std::string_view scenario, const models::data_facts& facts) {
  sha256_stream of;
  of.add(run).add(std::uint64_t{scenario.size()}).add(scenario);
  for (const std::uint64_t fact :
       {std::uint64_t{facts.features}, std::uint64_t{facts.clients}, static_cast<std::uint64_t>(facts.labels),
        std::uint64_t{facts.classes}, std::uint64_t{facts.words}})
    of.add(fact);
  return of.finish();
}

digest digest_of(const broadcast& from) {
  sha256_stream of;
  of.add(from.run).add(from.version).add(from.model.values());
  for (const double value : from.reference) of.add(std::bit_cast<std::uint64_t>(value));
  for (const auto limit : {from.limits.norm, from.limits.row, from.limits.weight}) of.add(std::uint64_t{limit});
  return of.finish();
}

std::uint32_t fewest_in_sum(const run_settings& settings) {
  const auto& how = *settings.participation;
  const bool is_async = how.mode == participation_mode::async;
  return std::max({privacy::fewest_clients, static_cast<std::uint32_t>(fewest_reports(settings)),
                   is_async ? how.buffer - how.buffer / 3 : 0});
}

std::uint32_t most_in_sum(const run_settings& settings) {
  const auto& cohort = *settings.participation;
  return cohort.mode == participation_mode::async ? cohort.buffer : static_cast<std::uint32_t>(asked_per_round(cohort));
}

privacy::secure_client make_secure_client(const experiment& e, const task_id& task, const digest& model,
                                          privacy::key_identity_ptr identity) {
  const privacy::sum_terms terms{.against = e.settings.privacy->adversary,
                                 .one_version = e.settings.participation->mode == participation_mode::sync,
                                 .fewest = fewest_in_sum(e.settings),
                                 .most = most_in_sum(e.settings),
                                 .rounds = e.settings.rounds};
  return {task, terms, {e.terms, model}, secret_source(e, task.version, task), std::move(identity)};
}

namespace {

/// The update as words: those that an open accumulator has after it. `staleness`: of an asynchronous update.
std::optional<rejection> encode_update(const experiment& e, const broadcast& from, const client_update& update,
                                       std::uint64_t staleness, std::vector<std::int64_t>& words) {
  const auto bounds = bounds_of(e, from, update.id.client);
  if (auto refused = validate(update, *e.parts.up, *e.settings.aggregation, bounds)) return refused;
  const auto sum = make_open_accumulator(e, from.reference);
  const auto& how = *e.settings.participation;
  const double freshness = how.mode == participation_mode::async ? staleness_weight(how, staleness) : 1.0;
  if (auto refused = sum->fold(update, freshness)) return refused;
  add_client_noise(e, from.model, update.id, *sum);  // also of a client without examples
  words = sum->take().words;
  return std::nullopt;
}

}  // namespace

std::optional<rejection> mask_update(const experiment& e, const broadcast& from, privacy::secure_client& with,
                                     client_update& update) {
  std::vector<std::int64_t> words;
  if (auto refused = encode_update(e, from, update, with.version() - update.id.version, words)) return refused;
  if (!with.mask(words)) return rejection::client_failed;
  const auto id = update.id;
  update = {};
  update.id = id;
  update.words = std::move(words);
  update.masked_for = with.version();
  return std::nullopt;
}

}  // namespace furlong::federated
