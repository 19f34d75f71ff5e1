// The order of a Python class's examples. The trainer here is a script that needs no package.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <numeric>

#include "federated/settings/training.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(python_order)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using overrides = std::vector<setting_override>;

namespace {

/// Answers open and initial: one parameter, two clients that train and an unseen one.
constexpr const char* trainer = R"(#!/usr/bin/env python3
import json, socket, struct
control = socket.socket(fileno=3)
while head := control.recv(8, socket.MSG_WAITALL):
    length, kind = struct.unpack("<II", head)
    body = control.recv(length - 4, socket.MSG_WAITALL)
    reply = b""
    if kind == 1:
        reply = json.dumps({
            "protocol": json.loads(body)["protocol"], "parameters": [{"name": "w", "shape": [3]}], "metrics": {},
            "clients": [{"name": "anna", "group": "train", "train": 20, "validation": 0, "test": 10},
                        {"name": "ben", "group": "train", "train": 20, "validation": 0, "test": 10},
                        {"name": "carl", "group": "test", "train": 20, "validation": 0, "test": 0}],
            "options": {}, "constants": [], "aliases": {}, "constants_sha256": "", "files": {}}).encode()
    control.sendall(struct.pack("<II", 4 + len(reply), kind) + reply)
)";

struct python_data : testing::temporary_directory {
  python_data() {
    write("taste.py", "");
    write("trainer", trainer);
    std::filesystem::permissions(path() / "trainer", std::filesystem::perms::owner_all);
  }
  scenario read(const overrides& changes) const {
    auto made = parse_scenario_text(
        "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"python\"\n[model]\nkind = \"python\"\n[algorithm]\n"
        "kind = \"fedavg\"\n[participation]\nper_round = 1\n[python]\nproblem = \"" +
            (path() / "taste.py").string() + ":Taste\"\ninterpreter = \"" + (path() / "trainer").string() + "\"\n",
        "t.toml", changes);
    BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
    return *made;
  }
  std::vector<std::uint32_t> order(const overrides& changes, std::uint32_t client, part which) const {
    const auto data = load_data(read(changes), path());
    BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
    models::examples scratch;
    const auto loaded = data->clients->load(client, which, scratch);
    auto numbers = std::vector(loaded.features.begin(), loaded.features.end());
    const auto first = *std::ranges::min_element(numbers);
    for (auto& number : numbers) number -= first;
    return numbers;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(training_examples_are_drawn_once_by_seed_and_client) {
  const python_data data;
  std::vector<std::uint32_t> numbered(20);
  std::iota(numbered.begin(), numbered.end(), 0U);
  const overrides as_numbered{{"python.order", "numbered"}};
  std::vector<std::vector<std::uint32_t>> drawn;
  for (const std::uint32_t client : {0U, 1U, 2U}) {
    drawn.push_back(data.order({}, client, part::train));
    BOOST_TEST((drawn.back() == data.order({}, client, part::train)));
    BOOST_TEST((drawn.back() != data.order({{"python.seed", "7"}}, client, part::train)));
    BOOST_TEST((drawn.back() != numbered));
    BOOST_TEST(std::ranges::is_permutation(drawn.back(), numbered));
    BOOST_TEST((data.order(as_numbered, client, part::train) == numbered));
  }
  BOOST_TEST((drawn[0] != drawn[1]));
  BOOST_TEST((drawn[1] != drawn[2]));
  numbered.resize(10);
  BOOST_TEST((data.order({}, 0, part::test) == numbered));
}

BOOST_AUTO_TEST_CASE(every_epoch_is_shuffled_unless_the_scenario_says_otherwise) {
  const python_data data;
  BOOST_TEST(data.read({}).settings.client->shuffle);
  BOOST_TEST(resolved_toml(data.read({})).find("\nshuffle = true\n") != std::string::npos);
  BOOST_TEST(!data.read({{"algorithm.client.shuffle", "false"}}).settings.client->shuffle);
  const auto built_in = parse_scenario_text(testing::valid_scenario(), "t.toml");
  BOOST_REQUIRE(built_in.has_value());
  BOOST_TEST(!built_in->settings.client->shuffle);
}

BOOST_AUTO_TEST_SUITE_END()
