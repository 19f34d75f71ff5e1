#include "tools/cli/top_lists.hpp"

#include <fmt/format.h>

#include "federated/client/inference.hpp"
#include "tools/cli/infer.hpp"
#include "tools/runs/csv.hpp"

namespace furlong::tools {

result<std::string> top_lists_csv(const trained_run& run, std::size_t top) {
  const auto& data = run.prepared.data;
  if (data.item_ids.empty() && data.item_names.empty())
    return fail(error::kind::usage, "--recommendations", "lists items, and the run's data have none",
                "use a run on ratings or interactions");
  if (!data.whole)
    return fail(error::kind::usage, "--recommendations", "needs the clients' own items, which only nodes have",
                "ask a node: furlong infer --store");
  if (auto complete = check_private_values(run); !complete) return tl::unexpected(complete.error());
  const label_scale scale(run);
  std::string out = "client,user,rank,item,name,prediction\n";
  for (std::uint32_t client = 0; client < data.clients->facts().clients; ++client) {
    const auto person = subject_of(run, client);
    if (!person) return tl::unexpected(person.error());
    const auto said = federated::predict_all_features(run.prepared.experiment, run.model, run.store.get(), client,
                                                      person->known.view());
    if (!said) return tl::unexpected(said.error());
    const auto best = best_features(said->predictions, *person, top);
    for (std::size_t rank = 0; rank < best.size(); ++rank)
      out += fmt::format("{},{},{},{},{},{}\n", client, csv_text(person->name), rank + 1,
                         csv_text(scenarios::item_id(data, best[rank])),
                         csv_text(data.clients->feature_name(best[rank])), scale(said->predictions[best[rank]]));
  }
  return out;
}

}  // namespace furlong::tools
