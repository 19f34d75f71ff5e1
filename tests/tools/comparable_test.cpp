// Which runs are ranked and paired: only those whose figures are of the same data, problem, tokens, examples and
// clients. Thirty pairs that are not, and thirty that are.
#include <algorithm>
#include <array>
#include <functional>

#include "tests/tools/reports.hpp"
#include "tools/compare/compare_output.hpp"
#include "tools/compare/comparison.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(comparable)

namespace {

constexpr std::array seeds{"1", "2", "3"};

using edit = std::function<void(run_record&)>;

// A run of a language model with all groups, a target and a best model: what every edit below has something to change.
run_record base_run(const std::string& seed, double shift, const std::string& lr) {
  run_record run;
  run.directory = "runs/lr" + lr + "-" + seed;
  run.name = "texts";
  run.seed = seed;
  run.algorithm = "fedavg";
  run.scenario = "[scenario]\nname = \"texts\"\nseed = " + seed + "\n[algorithm.client]\nlr = " + lr + "\n";
  auto& summary = run.summary.emplace();
  summary.texts = {{"scored_on.problem", "next-token"},      {"scored_on.tokens", "words"},
                   {"scored_on.data", "da7a000" + seed},     {"time_to_target.metric", "unseen.perplexity"},
                   {"best.metric", "validation.perplexity"}, {"clock", "virtual"}};
  const double noise = 0.01 * (1.0 + 0.1 * shift) * static_cast<double>(seed.front() - '0');
  summary.figures = {{"scored_on.vocabulary", 2003.0},
                     {"virtual_seconds", 90.0},
                     {"rounds", 4.0},
                     {"time_to_target.reached", 1.0},
                     {"time_to_target.value", 100.0},
                     {"best.value", 70.0 + shift},
                     {"time_to_target.virtual_seconds", 50.0 + shift + noise}};
  for (const std::string group : {"validation", "seen", "unseen"}) {
    summary.figures["eval." + group + ".perplexity"] = 80.0 + shift + noise;
    summary.figures["eval." + group + ".examples"] = 900.0;
    summary.figures["eval." + group + ".clients"] = 9.0;
  }
  return run;
}

// Two configurations with three seeds each; `change` is applied to those of the second.
std::vector<run_record> pair_of(const edit& both, const edit& change) {
  std::vector<run_record> runs;
  for (const double shift : {0.0, 1.0})
    for (const auto* seed : seeds) {
      runs.push_back(base_run(seed, shift, shift == 0.0 ? "0.1" : "0.2"));
      both(runs.back());
      if (shift > 0.0) change(runs.back());
    }
  return runs;
}

std::vector<tools::compared_figure> figures_of_all(const std::vector<run_record>& runs) {
  auto figures = tools::table_figures(runs);
  auto best = tools::figure_named("best.value", runs);
  best.when = tools::better::smaller;
  figures.push_back(best);
  return figures;
}

void set_figure(run_record& run, const std::string& key, double value) { run.summary->figures[key] = value; }
void set_text(run_record& run, const std::string& key, const std::string& value) { run.summary->texts[key] = value; }
edit figure(const std::string& key, double value) {
  return [=](run_record& run) { set_figure(run, key, value); };
}
edit text(const std::string& key, const std::string& value) {
  return [=](run_record& run) { set_text(run, key, value); };
}
edit setting(const std::string& lines) {
  return [=](run_record& run) { run.scenario += lines; };
}
// Other data, as the digest and the settings say.
edit data(const std::string& lines) {
  return [=](run_record& run) {
    run.scenario += "[data]\n" + lines + "\n";
    set_text(run, "scored_on.data", "07e2" + run.seed);
  };
}
edit in_seed(const std::string& seed, const edit& change) {
  return [=](run_record& run) {
    if (run.seed == seed) change(run);
  };
}
edit all_of(std::vector<edit> edits) {
  return [=](run_record& run) {
    for (const auto& one : edits) one(run);
  };
}
void nothing(run_record&) {}

void classify(run_record& run) {
  set_text(run, "scored_on.problem", "classes");
  set_figure(run, "scored_on.classes", 4.0);
  run.summary->texts.erase("scored_on.tokens");
  run.summary->figures.erase("scored_on.vocabulary");
}

struct unlike {
  const char* name;
  edit change;
  std::string columns;  // begin so; empty: all
  std::string note;     // names what differs
};

const std::vector<unlike> unlike_pairs{
    {"ratings", text("scored_on.problem", "ratings"), "", "in the problem: next-token (lr=0.1, run "},
    {"two classes", text("scored_on.problem", "two-classes"), "", "two-classes (lr=0.2, run \"lr0.2-1\" and 2 more)"},
    {"classes", classify, "", "differ in the problem"},
    {"a model's own problem", text("scored_on.problem", "custom"), "", "differ in the problem"},
    {"number of classes", figure("scored_on.classes", 5.0), "", "in the classes: 4 (lr=0.1"},
    {"characters", text("scored_on.tokens", "characters"), "", "in the tokens: words (lr=0.1"},
    {"a small vocabulary", figure("scored_on.vocabulary", 23.0), "", "vocabulary: 2003 (lr=0.1"},
    {"one word more", figure("scored_on.vocabulary", 2004.0), "", "2004 (lr=0.2"},
    {"characters with their vocabulary",
     all_of({text("scored_on.tokens", "characters"), figure("scored_on.vocabulary", 99.0)}), "", "99 (lr=0.2"},
    {"other users", data("users = 50"), "", "data: "},
    {"another split", data("split = [0.5, 0.0, 0.5]"), "", "data.split = [0.5, 0.0, 0.5] (lr=0.2"},
    {"a fixed split", data("split_seed = 77"), "", "data.split_seed = 77"},
    {"another source", data("source = \"leaf\""), "", "data.source = leaf"},
    {"fewer examples a user", data("max_examples = 5"), "", "data.max_examples = 5"},
    {"cut texts", data("max_tokens = 10"), "", "data.max_tokens = 10"},
    {"lower case", data("lower_case = true"), "", "data.lower_case = true"},
    {"other files", text("scored_on.data", "f11e5"), "", "digest f11e5"},
    {"other files in one seed", in_seed("2", text("scored_on.data", "f11e5")), "", "digest f11e5"},
    {"examples of unseen clients", figure("eval.unseen.examples", 450.0), "eval.unseen.",
     "number of scored examples of the group unseen: 900 (lr=0.1, run \"lr0.1-1\"); 450"},
    {"examples of seen clients", figure("eval.seen.examples", 901.0), "eval.seen.", "901 (lr=0.2"},
    {"examples of validation", figure("eval.validation.examples", 34.0), "eval.validation.", "34 (lr=0.2"},
    {"unseen clients", figure("eval.unseen.clients", 8.0), "eval.unseen.", "scored clients of the group unseen"},
    {"seen clients", figure("eval.seen.clients", 8.0), "eval.seen.", "scored clients of the group seen"},
    {"validation clients", figure("eval.validation.clients", 8.0), "eval.validation.", "8 (lr=0.2"},
    {"examples in one seed", in_seed("3", figure("eval.unseen.examples", 12.0)), "eval.unseen.",
     "900 (lr=0.1, run \"lr0.1-3\"); 12 (lr=0.2, run \"lr0.2-3\")"},
    {"a client without a score", in_seed("1", figure("eval.seen.clients", 8.0)), "eval.seen.", "run \"lr0.2-1\""},
    {"another target", text("time_to_target.metric", "seen.perplexity"), "time_to_target.", "in the target: "},
    {"a lower target", figure("time_to_target.value", 99.5), "time_to_target.", "in the target value: 100 (lr=0.1"},
    {"a target on other examples", figure("eval.unseen.examples", 451.0), "time_to_target.", "451 (lr=0.2"},
    {"the best by another figure", text("best.metric", "validation.accuracy"), "best.",
     "in the metric: validation.perplexity"},
};

struct like {
  const char* name;
  edit both;
  edit change;
};

const edit as_classes = classify;
const std::vector<like> like_pairs{
    {"a learning rate", nothing, nothing},
    {"an algorithm", nothing, [](run_record& run) { run.algorithm = "fedrecon"; }},
    {"a rule", nothing, setting("[algorithm.aggregation]\nrule = \"fedatt\"\n")},
    {"batches", nothing, setting("batch_size = 64\n")},
    {"epochs", nothing, setting("epochs = 5\n")},
    {"a server's optimizer", nothing, setting("[algorithm.server]\noptimizer = \"adam\"\n")},
    {"rounds", nothing, figure("rounds", 7.0)},
    {"a cohort", nothing, setting("[participation]\nper_round = 3\n")},
    {"a policy", nothing, setting("[participation]\npolicy = \"round-robin\"\n")},
    {"an asynchronous run", nothing, setting("[participation]\nmode = \"async\"\n")},
    {"a deadline", nothing, setting("[participation]\ndeadline = 9.0\n")},
    {"devices", nothing, setting("[devices.speed]\nsigma = 2.0\n")},
    {"a trace", nothing, setting("[devices.availability]\nkind = \"trace\"\ntrace = \"/home/a/b.csv\"\n")},
    {"dropout", nothing, setting("[dropout]\ntrain = 0.5\n")},
    {"noise", nothing, setting("[privacy]\nclip = 1.0\nnoise = 1.0\n")},
    {"compression", nothing, setting("[network]\ncompression = \"int8\"\n")},
    {"private tensors", nothing, setting("[model]\nprivate = [\"embedding\"]\n")},
    {"a model", nothing, [](run_record& run) { run.model = "lstm-nwp"; }},
    {"initial values", nothing, setting("[model]\nstart_from = \"/models/pretrained.npz\"\n")},
    {"a folder", nothing, setting("[data]\npath = \"/another/copy\"\n")},
    {"buckets", nothing, setting("[data]\nbuckets = 100\n")},
    {"more training clients", nothing, setting("[data]\nclients = 50\n")},
    {"data ahead", nothing, setting("[data]\ngenerate = \"ahead\"\n")},
    {"a vocabulary of a classifier", as_classes, setting("[data]\nvocabulary = 20\n")},
    {"tokens of a classifier", as_classes, setting("[data]\ntokens = \"characters\"\n")},
    {"a run of an earlier version", nothing,
     [](run_record& run) {
       std::erase_if(run.summary->texts, [](const auto& one) { return one.first.starts_with("scored_on."); });
       forget(*run.summary, "scored_on.");
     }},
    {"clip", nothing, setting("[evaluation]\nclip = false\n")},
    {"how often it is evaluated", nothing, setting("[evaluation]\nevery = 3\n")},
    {"workers", nothing, setting("[python]\nworkers = 8\n")},
    {"options of a class", nothing, setting("[python.options]\nhidden = 64\n")},
};

bool has_note(const std::vector<std::string>& notes, const std::string& part) {
  return std::ranges::any_of(notes, [&](const auto& note) { return has(note, part); });
}

constexpr const char* refusal = "Neither ranked nor paired";

}  // namespace

BOOST_AUTO_TEST_CASE(thirty_pairs_that_are_not_comparable_have_no_star_no_pairing_and_a_note) {
  BOOST_TEST(unlike_pairs.size() == 30U);
  for (const auto& one : unlike_pairs) {
    BOOST_TEST_CONTEXT(one.name) {
      const bool counts_classes = std::string(one.name) == "number of classes";
      const auto runs = pair_of(counts_classes ? as_classes : edit(nothing), one.change);
      const auto made = tools::compare(runs, figures_of_all(runs));
      std::size_t refused = 0;
      for (const auto& column : made.columns) {
        if (!column.figure.key.starts_with(one.columns) || column.figure.when == tools::better::neither) continue;
        ++refused;
        BOOST_TEST(!column.best.has_value(), column.figure.key);
        const auto pairs = tools::difference_in(column, 0, 1).n;
        BOOST_TEST(pairs == (has(one.name, "one seed") || has(one.name, "a client") ? 2U : 0U), column.figure.key);
      }
      BOOST_TEST(refused > 0U);
      const auto notes = tools::notes_on(runs, made);
      BOOST_TEST(has_note(notes, refusal));
      BOOST_TEST(has_note(notes, one.note), (notes.empty() ? "no note" : notes.front()));
      if (one.columns != "best.") BOOST_TEST(has(tools::comparison_table(runs), refusal));  // no column of the table
    }
  }
}

BOOST_AUTO_TEST_CASE(thirty_pairs_that_are_comparable_are_ranked_and_paired) {
  BOOST_TEST(like_pairs.size() == 30U);
  for (const auto& one : like_pairs) {
    BOOST_TEST_CONTEXT(one.name) {
      const auto runs = pair_of(one.both, one.change);
      const auto made = tools::compare(runs, figures_of_all(runs));
      BOOST_REQUIRE(made.configurations.size() == 2U);
      for (const auto& column : made.columns) {
        BOOST_TEST(tools::difference_in(column, 0, 1).n == 3U, column.figure.key);
        if (has(column.figure.key, "perplexity")) BOOST_TEST((column.best == std::size_t{0}), column.figure.key);
      }
      BOOST_TEST(!has_note(tools::notes_on(runs, made), refusal));
    }
  }
}

// Of three configurations the two that are comparable are still paired, and nothing is marked beside the third.
BOOST_AUTO_TEST_CASE(a_third_configuration_takes_the_mark_but_not_the_pairs) {
  auto runs = pair_of(nothing, nothing);
  for (const auto* seed : seeds) {
    runs.push_back(base_run(seed, 2.0, "0.4"));
    set_figure(runs.back(), "scored_on.vocabulary", 23.0);
  }
  const auto made = tools::compare(runs, tools::quality_figures(runs));
  for (const auto& column : made.columns) {
    BOOST_TEST(!column.best.has_value());
    BOOST_TEST(tools::difference_in(column, 0, 1).n == 3U);
    BOOST_TEST(tools::difference_in(column, 0, 2).n == 0U);
  }
}

// Words and characters of the same text have a common figure, unless words are unknown to one of them.
BOOST_AUTO_TEST_CASE(words_and_characters_are_compared_by_bits_per_character) {
  const auto runs_of = [](double unknown, double characters) {
    auto runs = pair_of(
        [](run_record& run) {
          set_figure(run, "eval.unseen.bits_per_character", run.summary->figures["eval.unseen.perplexity"] / 40.0);
          set_figure(run, "eval.unseen.characters", 5000.0);
          set_figure(run, "eval.unseen.unknown_tokens", 0.0);
        },
        all_of({text("scored_on.tokens", "characters"), figure("scored_on.vocabulary", 99.0),
                figure("eval.unseen.examples", 5000.0), figure("eval.unseen.characters", characters),
                figure("eval.unseen.unknown_tokens", unknown)}));
    return runs;
  };
  const auto pairs_in = [](const std::vector<run_record>& runs, const std::string& key) {
    const auto made = tools::compare(runs, {tools::figure_named(key, runs)});
    return tools::difference_in(made.columns.front(), 0, 1).n + (made.columns.front().best ? 100U : 0U);
  };
  BOOST_TEST(pairs_in(runs_of(0.0, 5000.0), "eval.unseen.bits_per_character") == 103U);
  BOOST_TEST(pairs_in(runs_of(0.0, 5000.0), "eval.unseen.perplexity") == 0U);
  BOOST_TEST(pairs_in(runs_of(7.0, 5000.0), "eval.unseen.bits_per_character") == 0U);
  BOOST_TEST(pairs_in(runs_of(0.0, 4999.0), "eval.unseen.bits_per_character") == 0U);
}

// A seed that missed the target is in no mean, and is named; who missed it is not best, however fast in other seeds.
BOOST_AUTO_TEST_CASE(seeds_that_missed_the_target_are_named) {
  auto runs = pair_of(nothing, all_of({figure("time_to_target.virtual_seconds", 10.0),
                                       in_seed("2", figure("time_to_target.reached", 0.0))}));
  const auto made = tools::compare(runs, {tools::figure_named("time_to_target.virtual_seconds", runs)});
  const auto notes = tools::notes_on(runs, made);
  BOOST_TEST(has_note(notes, "Target not reached: lr=0.2, seed 2."), (notes.empty() ? "no note" : notes.front()));
  const auto shown = tools::compare_text(runs, made, 0);
  BOOST_TEST(has(shown, "2 of 3"), shown);
  BOOST_TEST(!made.columns.front().best.has_value());
}

// No sentence denies a difference: of a figure without a better direction.
BOOST_AUTO_TEST_CASE(figures_without_a_direction_are_not_said_to_be_equal) {
  auto runs = pair_of(nothing, figure("bytes_up", 500.0));
  for (auto& run : runs) run.summary->figures.try_emplace("bytes_up", 100.0);
  const auto made = tools::compare(runs, {tools::figure_named("bytes_up", runs)});
  BOOST_TEST(tools::difference_in(made.columns.front(), 0, 1).mean == 400.0);
  const auto notes = tools::notes_on(runs, made);
  BOOST_TEST(has_note(notes, "neither a smaller nor a larger value of these figures is better"));
  BOOST_TEST(!has_note(notes, "interval"));
}

// A difference that is the same in each seed is no evidence where the figures vary; where no seed changes them, it is.
BOOST_AUTO_TEST_CASE(constant_differences_have_no_interval) {
  const auto runs_of = [](double by, double per_seed) {
    auto runs = pair_of(nothing, nothing);
    for (auto& run : runs) {
      const bool second = run.scenario.find("lr = 0.2") != std::string::npos;
      run.summary->figures["eval.unseen.perplexity"] = 90.0 + per_seed * std::stod(run.seed) + (second ? by : 0.0);
    }
    return runs;
  };
  const auto shown = [](const std::vector<run_record>& runs) {
    const auto made = tools::compare(runs, {tools::figure_named("eval.unseen.perplexity", runs)});
    return (made.columns.front().best ? "best, " : "") + tools::compare_text(runs, made, 0);
  };
  const std::string note = "A difference that is the same in each seed has no interval";
  const auto constant = shown(runs_of(-1.0, 0.7));
  BOOST_TEST((has(constant, "the same in each") && has(constant, note) && !has(constant, "best, ")), constant);
  const auto equal = shown(runs_of(0.0, 0.7));
  BOOST_TEST((has(equal, " equal ") && !has(equal, note) && !has(equal, "best, ")), equal);
  const auto fixed = shown(runs_of(-1.0, 0.0));
  BOOST_TEST((has(fixed, "the same in each") && !has(fixed, note) && has(fixed, "best, ")), fixed);
}

// Folders that all paths share say nothing.
BOOST_AUTO_TEST_CASE(labels_have_no_absolute_paths) {
  const std::string folder = "/home/somebody/with/a/long/path/";
  auto runs = pair_of(setting("[data]\npath = \"" + folder + "first\"\n"), nothing);
  for (auto& run : runs) {
    const auto lr = run.scenario.find("lr = 0.2");
    if (lr == std::string::npos) continue;
    run.scenario.replace(lr, 8, "lr = 0.1");
    run.scenario.replace(run.scenario.find("first"), 5, "second");
  }
  const auto all = tools::configurations_of(runs);
  BOOST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].label == "path=first");
  BOOST_TEST(all[1].label == "path=second");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
