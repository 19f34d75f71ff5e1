// Answers to a table of questions.
#include <fmt/format.h>
#include <map>

#include "base/parse_number.hpp"
#include "federated/client/inference.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "tools/cli/infer.hpp"
#include "tools/compare/csv.hpp"

namespace furlong::tools {

namespace {

/// A row of the table.
struct question {
  std::string place;  ///< "file:line"
  std::optional<std::uint32_t> client;
  std::string text;
  std::uint32_t item = 0;
};

/// The columns of the header that are read.
struct question_columns {
  std::string who;  ///< "client" or "user"; empty: everybody is new
  bool item = false;
  bool text = false;
};

result<question_columns> columns_of(std::string_view table, const std::string& name) {
  question_columns found;
  const auto header = "," + std::string(scenarios::next_line(table)) + ",";
  const auto has = [&](const std::string& column) {
    return header.find("," + column + ",") != std::string::npos ||
           header.find(",\"" + column + "\",") != std::string::npos;
  };
  found.who = has("client") ? "client" : has("user") ? "user" : "";
  found.item = has("item");
  found.text = has("text");
  if ((found.who.empty() && !found.text) || (found.item && found.text))
    return fail(error::kind::data, name + ":1", "has no columns to answer",
                "begin with a line of names: client or user, and for single answers item or text");
  return found;
}

/// Numbers of clients by their names in the data.
std::map<std::string, std::uint32_t, std::less<>> clients_by_name(const trained_run& run) {
  std::map<std::string, std::uint32_t, std::less<>> all;
  const auto& clients = *run.of.data.clients;
  for (std::uint32_t client = 0; client < clients.facts().clients; ++client)
    all.emplace(clients.client_name(client), client);
  return all;
}

result<std::vector<question>> read_questions(const std::filesystem::path& file, const question_columns& columns,
                                             std::string_view table, const trained_run& run) {
  const auto names = columns.who == "user" ? clients_by_name(run) : decltype(clients_by_name(run))();
  const auto known = run.of.data.clients->facts().clients;
  std::vector<question> all;
  // The user's column says who it is, the label's which item.
  const scenarios::by_column<std::string> wanted = {columns.who, columns.text ? "text" : "", columns.item ? "item" : "",
                                                    ""};
  const auto take = [&](const scenarios::by_column<std::string_view>& row, const std::string& place) -> result<void> {
    question one{place, std::nullopt, std::string(row[1])};
    const auto who = row[0];
    const auto refuse = [&](const std::string& why, const std::string& fix) {
      return fail(error::kind::data, place, why, fix);
    };
    if (const auto named = names.find(who); named != names.end())
      one.client = named->second;
    else if (columns.who == "client")
      one.client = parse_number<std::uint32_t>(who);
    if (!who.empty() && (!one.client || *one.client >= known))
      return refuse(scenarios::shown(who) + " is no client of the run",
                    fmt::format("it has the clients 0 to {}", known - 1));
    if (columns.item) {
      const auto item = parse_number<std::uint32_t>(row[2]);
      if (!item) return refuse(scenarios::shown(row[2]) + " is no item's number", "name items by the ids of the data");
      one.item = *item;
    }
    all.push_back(std::move(one));
    return {};
  };
  if (auto read = scenarios::read_rows(table, file.string(), scenarios::labelled_format::csv, wanted, take); !read)
    return tl::unexpected(read.error());
  return all;
}

std::string who_fields(const trained_run& run, const std::optional<std::uint32_t>& client) {
  return client ? fmt::format("{},{}", *client, csv_text(run.of.data.clients->client_name(*client))) : ",";
}

result<subject> person(const trained_run& run, const std::optional<std::uint32_t>& client) {
  return client ? subject_of(run, *client) : result<subject>(subject());
}

/// One answer to each question about an item, or the best items of its client. Predictions of a client for all items
/// are made once.
result<std::string> answer_items(const trained_run& run, const std::vector<question>& questions, bool items,
                                 std::size_t top) {
  const label_scale scale(run);
  std::map<std::optional<std::uint32_t>, std::vector<std::size_t>> by_client;
  for (std::size_t i = 0; i < questions.size(); ++i) by_client[questions[i].client].push_back(i);
  std::vector<std::string> answers(questions.size());
  for (const auto& [client, of] : by_client) {
    const auto who = person(run, client);
    if (!who) return tl::unexpected(who.error());
    const auto said =
        federated::predict_all_features(run.of.experiment, run.model, run.store.get(), client, who->known.view());
    if (!said) return tl::unexpected(said.error());
    const auto line = [&, client = client](const std::string& second, std::optional<std::uint32_t> feature) {
      if (!feature) return fmt::format("{},{},,\n", who_fields(run, client), second);
      return fmt::format("{},{},{},{}\n", who_fields(run, client), second,
                         csv_text(run.of.data.clients->feature_name(*feature)), scale(said->predictions[*feature]));
    };
    const auto best = items ? std::vector<std::uint32_t>() : best_features(said->predictions, who->known, top);
    for (const auto i : of) {
      if (items) {
        const auto item = questions[i].item;
        answers[i] = line(std::to_string(item), feature_of(run.of.data, item));
      }
      for (std::size_t rank = 0; rank < best.size(); ++rank)
        answers[i] += line(fmt::format("{},{}", rank + 1, run.of.data.item_ids[best[rank]]), best[rank]);
    }
  }
  std::string out = items ? "client,user,item,name,prediction\n" : "client,user,rank,item,name,prediction\n";
  for (const auto& one : answers) out += one;
  return out;
}

result<std::string> answer_texts(const trained_run& run, const std::vector<question>& questions,
                                 const text_settings& how) {
  std::string out;
  for (const auto& one : questions) {
    const auto who = person(run, one.client);
    if (!who) return tl::unexpected(who.error());
    const auto said = infer_text(run, *who, one.text, how);
    if (!said) return fail(error::kind::data, one.place, said.error().reason, said.error().fix);
    const auto line = fmt::format("{},{}", who_fields(run, one.client), csv_text(one.text));
    if (said->contains("goes_on")) {
      if (out.empty()) out = "client,user,text,goes_on\n";
      std::string tokens;
      for (const auto& token : (*said)["goes_on"])
        tokens += (tokens.empty() ? "" : (*said)["separator"].get<std::string>()) + token.get<std::string>();
      out += fmt::format("{},{}\n", line, csv_text(tokens));
      continue;
    }
    if (out.empty()) out = "client,user,text,label,probability\n";
    out += fmt::format("{},{},{}\n", line, csv_text((*said)[said->contains("name") ? "name" : "label"]),
                       said->contains("probability") ? (*said)["probability"].dump() : "");
  }
  return out;
}

}  // namespace

result<std::string> infer_batch(const trained_run& run, const infer_options& options) {
  const auto file = scenarios::mapped_file::open(options.batch);
  if (!file) return fail(error::kind::data, file.error().place, file.error().reason, file.error().fix);
  const auto columns = columns_of(file->bytes(), options.batch.string());
  if (!columns) return tl::unexpected(columns.error());
  if (columns->text != (run.of.data.texts != nullptr))
    return fail(
        error::kind::data, options.batch.string() + ":1",
        columns->text ? "has texts, and the run's data have none" : "has no texts, and the run's data are texts",
        columns->text ? "name items in a column item" : "add a column text");
  const auto questions = read_questions(options.batch, *columns, file->bytes(), run);
  if (!questions) return tl::unexpected(questions.error());
  if (columns->text) return answer_texts(run, *questions, {options.top, options.temperature, options.seed});
  return answer_items(run, *questions, columns->item, options.top);
}

}  // namespace furlong::tools
