// Answers to a table of questions.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/parse_number.hpp"
#include "federated/client/inference.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "tools/cli/infer.hpp"
#include "tools/runs/csv.hpp"

namespace furlong::tools {

namespace {

/// A row of the table.
struct question {
  std::string place;  ///< "file:line"
  std::optional<std::uint32_t> client;
  std::string text;  ///< or the id of an item
  std::string id;
};

/// The names of the columns of the header; empty: the table has none.
struct question_columns {
  std::string id;      ///< is copied to the answers
  std::string client;  ///< numbers
  std::string user;    ///< names
  std::string item;
  std::string text;
};

/// The columns that a table of questions to a run may have.
std::vector<std::pair<std::string, std::string question_columns::*>> known_columns(const trained_run& run) {
  std::vector<std::pair<std::string, std::string question_columns::*>> known = {
      {"id", &question_columns::id}, {"client", &question_columns::client}, {"user", &question_columns::user}};
  const bool texts = run.prepared.data.texts != nullptr;
  known.emplace_back(texts ? "text" : "item", texts ? &question_columns::text : &question_columns::item);
  if (run.prepared.scenario.data_source != "labelled-text") return known;
  for (const auto& [option, place] :
       {std::pair("user_column", &question_columns::user), {"text_column", &question_columns::text}})
    if (const auto& name = run.prepared.scenario.data.text(option);
        std::ranges::find(known, name, [](const auto& column) { return column.first; }) == known.end())
      known.emplace_back(name, place);
  return known;
}

result<question_columns> columns_of(std::string_view table, const std::string& name, const trained_run& run) {
  const auto header = scenarios::read_header(table, name, scenarios::labelled_format::csv);
  if (!header) return tl::unexpected(header.error());
  const auto known = known_columns(run);
  std::string list;
  for (const auto& [column, place] : known) list += (list.empty() ? "" : ", ") + column;
  question_columns found;
  for (const auto& column : *header) {
    const auto named = std::ranges::find(known, column, [](const auto& pair) { return pair.first; });
    if (named == known.end())
      return fail(error::kind::data, name + ":1", "has a column " + scenarios::shown(column) + ", which has no meaning",
                  "the columns of questions to this run are " + list + ": rename or remove it");
    auto& taken = found.*named->second;
    if (!taken.empty())
      return fail(error::kind::data, name + ":1",
                  "has the columns \"" + taken + "\" and \"" + column + "\", which mean the same", "remove one");
    taken = column;
  }
  if (run.prepared.data.texts != nullptr ? found.text.empty() : found.client.empty() && found.user.empty())
    return fail(
        error::kind::data, name + ":1", "has no columns to answer",
        "begin with a line of names, with " +
            std::string(run.prepared.data.texts != nullptr ? "text" : "client or user, and for single answers item"));
  return found;
}

/// Numbers of clients by their names in the data.
std::map<std::string, std::uint32_t, std::less<>> clients_by_name(const trained_run& run) {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  const auto& clients = *run.prepared.data.clients;
  for (std::uint32_t client = 0; client < clients.facts().clients; ++client)
    numbers.emplace(clients.client_name(client), client);
  return numbers;
}

/// Finds the clients of questions.
class client_finder {
 public:
  client_finder(const trained_run& run, const question_columns& columns)
      : clients_(*run.prepared.data.clients),
        // The data's own column of names may be called client, too.
        client_is_name_(run.prepared.scenario.data_source == "labelled-text" &&
                        run.prepared.scenario.data.text("user_column") == "client") {
    if (!columns.user.empty() || client_is_name_) names_ = clients_by_name(run);
  }

  /// The client that both fields name; an empty field names nobody.
  result<std::optional<std::uint32_t>> find(std::string_view number, std::string_view name,
                                            const std::string& place) const {
    const auto by_number = numbered(number, place);
    if (!by_number) return by_number;
    if (name.empty()) return by_number;
    const auto named = names_.find(name);
    if (named == names_.end())
      return fail(error::kind::data, place, scenarios::shown(name) + " is no client of the run",
                  fmt::format("it has the clients 0 to {}, client 0 is {}", clients_.facts().clients - 1,
                              scenarios::shown(clients_.client_name(0))));
    if (*by_number && **by_number != named->second)
      return fail(error::kind::data, place,
                  fmt::format("names client {}, who is {}, and user {}", **by_number,
                              scenarios::shown(clients_.client_name(**by_number)), scenarios::shown(name)),
                  "correct one of them, or leave one empty");
    return named->second;
  }

 private:
  result<std::optional<std::uint32_t>> numbered(std::string_view text, const std::string& place) const {
    if (text.empty()) return std::nullopt;
    auto client = parse_number<std::uint32_t>(text);
    if (client && *client >= clients_.facts().clients) client.reset();
    if (const auto named = names_.find(text); client_is_name_ && named != names_.end()) {
      if (client && *client != named->second)
        return fail(error::kind::data, place,
                    scenarios::shown(text) + " is the number of one client and the name of another",
                    "name clients in a column user");
      client = named->second;
    }
    if (client) return client;
    return fail(error::kind::data, place, scenarios::shown(text) + " is no client of the run",
                fmt::format("it has the clients 0 to {}", clients_.facts().clients - 1));
  }

  const federated::population& clients_;
  bool client_is_name_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
};

result<std::vector<question>> read_questions(const std::filesystem::path& file, const question_columns& columns,
                                             std::string_view table, const trained_run& run) {
  const client_finder clients(run, columns);
  std::vector<question> questions;
  const scenarios::by_column<std::string> wanted = {columns.user, columns.text.empty() ? columns.item : columns.text,
                                                    columns.client, columns.id};
  const auto take = [&](const scenarios::by_column<std::string_view>& row, const std::string& place) -> result<void> {
    const auto [user, asked, client, id] = row;
    const auto found = clients.find(client, user, place);
    if (!found) return tl::unexpected(found.error());
    question made{place, *found, std::string(asked), std::string(id)};
    const bool has_number = parse_number<std::uint32_t>(asked).has_value();
    if (!columns.item.empty() && run.prepared.data.item_names.empty() && !has_number)
      return fail(error::kind::data, place, scenarios::shown(asked) + " is no item's number",
                  "name items by the ids of the data");
    questions.push_back(std::move(made));
    return {};
  };
  if (auto read = scenarios::read_rows(table, file.string(), scenarios::labelled_format::csv, wanted, take); !read)
    return tl::unexpected(read.error());
  return questions;
}

/// How answers begin: with the id, if there is such a column, and the client.
class answer_start {
 public:
  answer_start(const trained_run& run, const question_columns& columns)
      : clients_(*run.prepared.data.clients), ids_(!columns.id.empty()) {}

  [[nodiscard]] std::string header() const { return ids_ ? "id,client,user" : "client,user"; }
  [[nodiscard]] std::string operator()(const question& text) const {
    const auto id = ids_ ? csv_text(text.id) + "," : std::string();
    if (!text.client) return id + ",";
    return fmt::format("{}{},{}", id, *text.client, csv_text(clients_.client_name(*text.client)));
  }

 private:
  const federated::population& clients_;
  bool ids_;
};

result<subject> person(const trained_run& run, const std::optional<std::uint32_t>& client) {
  return client ? subject_of(run, *client) : result<subject>(subject());
}

/// One answer to each question about an item, or the best items of its client. Predictions of a client for all items
/// are made once.
result<std::string> answer_items(const trained_run& run, const std::vector<question>& questions,
                                 const question_columns& columns, std::size_t top) {
  const answer_start start(run, columns);
  const bool items = !columns.item.empty();
  const label_scale scale(run);
  std::map<std::optional<std::uint32_t>, std::vector<std::size_t>> by_client;
  for (std::size_t i = 0; i < questions.size(); ++i) by_client[questions[i].client].push_back(i);
  std::vector<std::string> asked_items;
  for (const auto& question : questions) asked_items.push_back(question.text);
  const auto features =
      items ? scenarios::items_named(run.prepared.data, asked_items) : std::vector<std::optional<std::uint32_t>>();
  std::vector<std::string> answers(questions.size());
  for (const auto& [client, indices] : by_client) {
    const auto target = person(run, client);
    if (!target) return tl::unexpected(target.error());
    const auto said = federated::predict_all_features(run.prepared.experiment, run.model, run.store.get(), client,
                                                      target->known.view());
    if (!said) return tl::unexpected(said.error());
    const auto line = [&](std::size_t asked, const std::string& second, std::optional<std::uint32_t> feature) {
      if (!feature) return fmt::format("{},{},,\n", start(questions[asked]), second);
      return fmt::format("{},{},{},{}\n", start(questions[asked]), second,
                         csv_text(run.prepared.data.clients->feature_name(*feature)),
                         scale(said->predictions[*feature]));
    };
    const auto best = items ? std::vector<std::uint32_t>() : best_features(said->predictions, *target, top);
    for (const auto i : indices) {
      if (items) answers[i] = line(i, csv_text(questions[i].text), features[i]);
      for (std::size_t rank = 0; rank < best.size(); ++rank)
        answers[i] += line(
            i, fmt::format("{},{}", rank + 1, csv_text(scenarios::item_id(run.prepared.data, best[rank]))), best[rank]);
    }
  }
  auto out = start.header() + (items ? ",item,name,prediction\n" : ",rank,item,name,prediction\n");
  for (const auto& answer : answers) out += answer;
  return out;
}

result<std::string> answer_texts(const trained_run& run, const std::vector<question>& questions,
                                 const question_columns& columns, const text_settings& settings) {
  const answer_start start(run, columns);
  std::string out;
  for (const auto& entry : questions) {
    const auto target = person(run, entry.client);
    if (!target) return tl::unexpected(target.error());
    const auto said = infer_text(run, *target, entry.text, settings);
    if (!said) return fail(error::kind::data, entry.place, said.error().reason, said.error().fix);
    const auto line = fmt::format("{},{}", start(entry), csv_text(entry.text));
    if (said->contains("goes_on")) {
      if (out.empty()) out = start.header() + ",text,goes_on\n";
      std::string tokens;
      for (const auto& token : (*said)["goes_on"])
        tokens += (tokens.empty() ? "" : (*said)["separator"].get<std::string>()) + token.get<std::string>();
      out += fmt::format("{},{}\n", line, csv_text(tokens));
      continue;
    }
    if (out.empty()) out = start.header() + ",text,label,probability\n";
    out += fmt::format("{},{},{}\n", line, csv_text((*said)[said->contains("name") ? "name" : "label"]),
                       said->contains("probability") ? (*said)["probability"].dump() : "");
  }
  return out;
}

}  // namespace

result<std::string> infer_batch(const trained_run& run, const infer_options& options) {
  const auto file = scenarios::open_text(options.batch);
  if (!file) return fail(error::kind::data, file.error().place, file.error().reason, file.error().fix);
  const auto columns = columns_of(file->bytes(), options.batch.string(), run);
  if (!columns) return tl::unexpected(columns.error());
  const auto questions = read_questions(options.batch, *columns, file->bytes(), run);
  if (!questions) return tl::unexpected(questions.error());
  if (!columns->text.empty())
    return answer_texts(run, *questions, *columns, {options.top, options.temperature, options.seed});
  return answer_items(run, *questions, *columns, options.top);
}

}  // namespace furlong::tools
