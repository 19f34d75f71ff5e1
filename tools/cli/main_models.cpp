// The command line of infer and export.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/command_line.hpp"
#include "tools/cli/commands.hpp"

namespace furlong::tools {

void add_infer(CLI::App& app, command& chosen) {
  auto options = std::make_shared<infer_options>();
  auto* sub = app.add_subcommand("infer", "predict for a client of a run, or for somebody new");
  sub->add_option("run", options->run, "run directory")->required()->option_text("RUN");
  auto* who = sub->add_option_group("who")->require_option(0, 1);
  who->add_option("--client", options->client, "a client, by its number")
      ->transform(client_number())
      ->option_text("ID");
  who->add_option("--user", options->user, "a client, by its name in the data")->option_text("NAME");
  auto* ratings =
      who->add_option("--ratings", options->ratings, "a file of one person's ratings, one item,rating per line");
  ratings->option_text("FILE");
  auto* batch = who->add_option("--batch", options->batch,
                                "a table of questions, CSV with columns client or user, and item or text; prints CSV");
  batch->option_text("FILE");
  sub->add_option("--text", options->text, "a text to classify or to continue; for a new person without --client")
      ->option_text("TEXT")
      ->excludes(ratings)
      ->excludes(batch);
  sub->add_option("--top", options->top,
                  "number of items to recommend, of classes to list, or of tokens to add: 1 to 1000 (default 10)")
      ->transform(whole_number(1, 1000))
      ->option_text("N");
  auto* temperature = sub->add_option(
      "--temperature", options->temperature,
      "draws the tokens that a text goes on with, the more evenly the higher: above 0 to 100; 1: as the "
      "model says (default 0: the most likely ones)");
  temperature->check(CLI::Range(0.0, 100.0))->option_text("T");
  sub->add_option("--seed", options->seed, "of the draws (default 1)")
      ->transform(whole_number(0, UINT64_MAX))
      ->option_text("N")
      ->needs(temperature);
  add_format(sub, options->format);
  batch->excludes(sub->get_option("--format"));
  sub->callback([options, &chosen] { chosen = [options] { return infer_command(*options); }; });
}

void add_export(CLI::App& app, command& chosen) {
  auto options = std::make_shared<export_options>();
  auto* sub = app.add_subcommand("export", "write a run's model, figures, predictions or split for other programs");
  sub->add_option("run", options->run, "run directory")->required()->option_text("RUN");
  auto* model = sub->add_option("--model", options->model, "shared parameters by name: .npz or .safetensors");
  model->option_text("FILE");
  sub->add_option("--client", options->client, "with --model: the private parameters of this client too")
      ->transform(client_number())
      ->option_text("ID")
      ->needs(model);
  sub->add_option("--curves", options->curves, "figures of all rounds, as CSV")->option_text("FILE");
  sub->add_option("--predictions", options->predictions,
                  "test examples of the clients seen and unseen in training, with prediction and label, as CSV")
      ->option_text("FILE");
  sub->add_option("--split", options->split, "all examples with client, group, part and label, as CSV")
      ->option_text("FILE");
  sub->add_option("--clients", options->clients,
                  "participation, last round, loss, quality and simulated device of each client, as CSV")
      ->option_text("FILE");
  sub->add_option("--tensorboard", options->tensorboard, "figures of all rounds, as an event file in this folder")
      ->option_text("DIR");
  sub->callback([options, &chosen] { chosen = [options] { return export_command(*options); }; });
}

}  // namespace furlong::tools
