// The sections about who took part, and how stale private values are.
#include <cmath>

#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/html.hpp"
#include "tools/report/detail/sections.hpp"

namespace furlong::tools {

namespace {

table_row row_of(std::string_view name, const std::string& value, std::string kind = {}) {
  return {{text_cell(name), number_cell(value)}, std::move(kind)};
}

// How many, and their share where all are known.
std::string never(std::uint64_t count, std::optional<std::uint64_t> clients) {
  if (!clients || *clients == 0) return grouped(count);
  const double share = static_cast<double>(count) / static_cast<double>(*clients);
  return grouped(count) + " (" + written(share, number_style::percent) + ")";
}

table_row staleness_row(std::string_view name, const staleness_figures& of, bool seconds) {
  table_row row{{text_cell(name)}, ""};
  for (const auto& value : {of.mean, of.p50, of.p90, of.max})
    row.cells.push_back(number_cell(written(value, seconds ? number_style::seconds : number_style::mean)));
  return row;
}

}  // namespace

std::string participation_summary(const run_record& run) {
  if (!run.summary || !run.summary->participation) return {};
  const auto& of = *run.summary->participation;
  std::vector<table_row> rows;
  const auto add = [&](std::string_view name, std::optional<double> value, number_style style) {
    if (value) rows.push_back(row_of(name, written(value, style)));
  };
  add("mean", of.mean, number_style::mean);
  add("10 % have at most", of.p10, number_style::mean);
  add("median", of.p50, number_style::mean);
  add("90 % have at most", of.p90, number_style::mean);
  add("most", of.max, number_style::mean);
  add("Gini coefficient", of.gini, number_style::plain);
  if (of.never_selected) rows.push_back(row_of("clients never selected", never(*of.never_selected, of.clients)));
  if (of.never_folded) rows.push_back(row_of("clients never trained", never(*of.never_folded, of.clients)));
  if (rows.empty()) return {};
  std::string out = "<h2>Participation of clients</h2>\n" +
                    html_table("How many updates of a client were folded, over all clients.",
                               {{"a client\u2019s folded updates", "", false}, {"", "", true}}, rows);
  if (of.gini)
    out += "<p class=\"hint\">Gini: 0 when all took part equally often, towards 1 when few did all the work.</p>\n";
  return out;
}

std::string private_state(const run_record& run) {
  if (!run.summary || !run.summary->private_staleness || run.summary->private_clients == 0U) return {};
  std::vector<table_row> rows{staleness_row("rounds", *run.summary->private_staleness, false)};
  if (run.summary->private_staleness_seconds)
    rows.push_back(staleness_row(time_word(run), *run.summary->private_staleness_seconds, true));
  return "<h2>Private staleness</h2>\n" +
         html_table(
             "How long ago a client\u2019s private values were last trained.",
             {{"in", "", false}, {"mean", "", true}, {"median", "", true}, {"90 %", "", true}, {"most", "", true}},
             rows);
}

}  // namespace furlong::tools
