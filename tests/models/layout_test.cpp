#include "models/layout.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "models/entries.hpp"
#include "models/model.hpp"
#include "models/parameters.hpp"

BOOST_AUTO_TEST_SUITE(layouts)

using namespace furlong;
using models::layout;
using models::row_index;

namespace {

models::layout_ptr four_tensors() {
  return std::make_shared<layout>(std::vector<models::tensor_spec>{
      {"user", 1, 3}, {"table", 5, 2, row_index::by_client}, {"item", 4, 3, row_index::by_feature}, {"mean"}});
}

result<models::partition> split_of(const models::layout_ptr& all, std::vector<std::string> names) {
  return models::split(all, names);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_follow_each_other_without_gap_or_overlap) {
  const auto all = four_tensors();
  std::size_t next = 0;
  for (std::size_t t = 0; t < all->count(); ++t) {
    BOOST_TEST(all->offset(t) == next);
    next += std::size_t{(*all)[t].rows} * (*all)[t].cols;
  }
  BOOST_TEST(all->size() == next);

  models::shared_parameters values(all);
  BOOST_TEST(values.values().size() == next);
  std::iota(values.values().begin(), values.values().end(), 0.0F);
  for (std::size_t t = 0; t < all->count(); ++t) {
    BOOST_TEST(values.tensor(t).size() == (*all)[t].size());
    BOOST_TEST(values.tensor(t).front() == static_cast<float>(all->offset(t)));
  }
}

BOOST_AUTO_TEST_CASE(a_signature_tells_names_shapes_and_order) {
  const auto all = four_tensors();
  BOOST_TEST(all->signature() == "user 1 3\ntable 5 2\nitem 4 3\nmean 1 1\n");
  BOOST_TEST(all->find("item").value() == 2U);
  BOOST_TEST(!all->find("Item").has_value());
  BOOST_TEST((*all == *four_tensors()));
  BOOST_TEST(!(*all == layout({{"user", 1, 3}})));
}

BOOST_AUTO_TEST_CASE(a_split_sends_every_tensor_to_exactly_one_side_and_keeps_the_order) {
  const auto all = four_tensors();
  const auto parts = split_of(all, {"mean", "user"}).value();
  BOOST_TEST(parts.private_->signature() == "user 1 3\nmean 1 1\n");
  BOOST_TEST(parts.shared->signature() == "table 5 2\nitem 4 3\n");
  BOOST_TEST(parts.private_tensors == (std::vector<std::size_t>{0, 3}));
  BOOST_TEST(parts.shared_tensors == (std::vector<std::size_t>{1, 2}));
  BOOST_TEST(parts.all_tensors == (std::vector<std::size_t>{0, 1, 2, 3}));
  for (std::size_t t = 0; t < all->count(); ++t) {
    const auto& side = parts.slots[t].is_private ? *parts.private_ : *parts.shared;
    BOOST_TEST((side[parts.slots[t].tensor] == (*all)[t]));
  }
}

BOOST_AUTO_TEST_CASE(nothing_private_is_a_split_too) {
  const auto parts = split_of(four_tensors(), {}).value();
  BOOST_TEST(parts.private_->size() == 0U);
  BOOST_TEST((*parts.shared == *four_tensors()));
}

BOOST_AUTO_TEST_CASE(a_wrong_split_says_what_is_wrong_and_what_could_be_named) {
  const auto unknown = split_of(four_tensors(), {"usr"});
  BOOST_TEST(unknown.error().reason == "the model has no tensor \"usr\"");
  BOOST_TEST(unknown.error().fix == "name some of: user, table, item, mean");
  BOOST_TEST((unknown.error().what == error::kind::usage));
  BOOST_TEST(split_of(four_tensors(), {"user", "user"}).error().reason == "tensor \"user\" is named twice");
  BOOST_TEST(split_of(four_tensors(), {"table"}).error().reason == "tensor \"table\" is a table over all clients");
  const auto two = std::make_shared<layout>(std::vector<models::tensor_spec>{{"a"}, {"b"}});
  BOOST_TEST(split_of(two, {"b", "a"}).error().reason ==
             "every trained tensor is private, so nothing is left to federate");
}

BOOST_AUTO_TEST_CASE(buffers_belong_to_a_side_and_are_trained_by_nothing) {
  const auto all = std::make_shared<layout>(std::vector<models::tensor_spec>{
      {.name = "a"}, {.name = "b"}, {.name = "m", .cols = 2, .buffer = true}, {.name = "n", .buffer = true}});
  BOOST_TEST(all->signature() == "a 1 1\nb 1 1\nm 1 2 buffer\nn 1 1 buffer\n");
  using indices = std::vector<std::size_t>;
  const auto parts = split_of(all, {"b", "n"}).value();
  BOOST_TEST(parts.all_tensors == (indices{0, 1}));
  BOOST_TEST(parts.shared_tensors == (indices{0}));
  BOOST_TEST(parts.private_tensors == (indices{1}));
  BOOST_TEST(parts.buffers == (indices{2, 3}));
  BOOST_TEST(parts.own_tensors == (indices{1, 3}));
  BOOST_TEST(parts.shared->signature() == "a 1 1\nm 1 2 buffer\n");
  const auto moved = [](const models::partition& by, const indices& trained) {
    indices found;
    models::moved_buffers(by, trained, found);
    return found;
  };
  BOOST_TEST(moved(parts, {0}) == (indices{2}));
  BOOST_TEST(moved(parts, {1}) == (indices{3}));
  BOOST_TEST(moved(parts, {0, 1}) == (indices{2, 3}));
  BOOST_TEST(moved(parts, {1, 2}) == (indices{2, 3}));  // one that is named
  BOOST_TEST(moved(parts, {}).empty());
  const auto alone = split_of(all, {"m"}).value();  // a side of buffers moves with the other
  BOOST_TEST(moved(alone, {0}) == (indices{2, 3}));
  BOOST_TEST(split_of(all, {"a", "b"}).error().reason ==
             "every trained tensor is private, so nothing is left to federate");
}

BOOST_AUTO_TEST_CASE(a_described_model_has_its_buffers) {
  const auto* entry = models::find_model("python");
  option_values options;
  const std::vector<std::string> texts{"a 2x3", "bn.running_mean 1x3 buffer"};
  options.set("parameters", texts);
  const auto built = entry->build(options, {}).value();
  BOOST_TEST(built->tensors()->signature() == "a 2 3\nbn.running_mean 1 3 buffer\n");
  BOOST_TEST((*built->tensors())[1].exact);
  BOOST_TEST(models::described_parameters(*built) == texts);
  for (const char* wrong : {"a 2x3 buffers", "a 2 buffer", " buffer"}) {
    options.set("parameters", std::vector<std::string>{wrong});
    BOOST_TEST(entry->build(options, {}).error().fix == "write \"NAME ROWSxCOLUMNS\" or \"NAME ROWSxCOLUMNS buffer\"");
  }
}

BOOST_AUTO_TEST_CASE(an_error_reads_as_one_line) {
  BOOST_TEST((error{error::kind::data, "file", "is cut", "copy it again"}.text()) == "file: is cut; copy it again");
  BOOST_TEST((error{error::kind::data, "", "is cut", ""}.text()) == "is cut");
}

BOOST_AUTO_TEST_SUITE_END()
