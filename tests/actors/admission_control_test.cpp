// What a gateway's admission control accepts, counts and logs.
#include "actors/federation/admission_control.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sstream>

#include "actors/federation/processes_common.hpp"
#include "tests/support/few_files.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(gates)

using namespace furlong;
using namespace furlong::actors::federation;
namespace net = actors::net;

namespace {

const net::peer rack{"rack/0-9/1", "10.0.0.1:4000"};

/// A deny list in a file.
class list_file {
 public:
  list_file() { write(""); }
  void write(const std::string& text) const { std::ofstream(folder_ / "deny.txt") << text; }
  [[nodiscard]] std::shared_ptr<actors::tls::deny_list> load() const {
    return actors::tls::deny_list::load(folder_ / "deny.txt").value();
  }

 private:
  tests::temporary_folder folder_;
};

/// What is logged while it lives.
class listening {
 public:
  listening() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("gate", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~listening() { spdlog::set_default_logger(before_); }
  listening(const listening&) = delete;
  listening& operator=(const listening&) = delete;
  [[nodiscard]] std::size_t lines() const {
    const auto all = text_.str();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

net::connect_failure failure(net::failure_cause cause, const std::string& why = "?") {
  return {cause, {error::kind::runtime, "", why, ""}};
}

std::uint64_t count(const admission_control& of, admission_refusal why) {
  return of.counts().connections[static_cast<std::size_t>(why)];
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_deny_list_is_read_again) {
  const list_file file;
  admission_control one(file.load());
  BOOST_TEST(!one.judge(rack).has_value());
  BOOST_TEST(!one.denies(rack));
  file.write("rack\n");
  one.refresh();
  BOOST_TEST(one.denies(rack));
  BOOST_TEST(!one.denies({"ruck/0-9/1", ""}));
  const auto why = one.judge(rack);
  BOOST_REQUIRE(why.has_value());
  one.refused(rack, failure(net::failure_cause::rejected, *why));
  BOOST_TEST(count(one, admission_refusal::denied) == 1U);
}

BOOST_AUTO_TEST_CASE(certificates_of_others_are_no_nodes) {
  const list_file file;
  admission_control one(file.load());
  const net::peer server{"server", "10.0.0.1:4000"};
  const auto why = one.judge(server);
  BOOST_REQUIRE(why.has_value());
  one.refused(server, failure(net::failure_cause::rejected, *why));
  BOOST_TEST(count(one, admission_refusal::not_a_node) == 1U);
}

BOOST_AUTO_TEST_CASE(without_certificates_everybody_comes_in) {
  admission_control one;
  BOOST_TEST(!one.judge({"", "10.0.0.1:4000"}).has_value());
  BOOST_TEST(!one.denies({"", "10.0.0.1:4000"}));
}

BOOST_AUTO_TEST_CASE(refusals_are_counted_by_reason) {
  using net::failure_cause;
  const listening quiet;
  admission_control one;
  const std::pair<net::connect_failure, admission_refusal> cases[] = {
      {failure(failure_cause::protocol), admission_refusal::protocol},
      {failure(failure_cause::untrusted), admission_refusal::untrusted},
      {failure(failure_cause::wrong_host), admission_refusal::untrusted},
      {failure(failure_cause::expired), admission_refusal::expired},
      {failure(failure_cause::timed_out), admission_refusal::timed_out},
      {failure(failure_cause::lost), admission_refusal::lost},
      {failure(failure_cause::rejected, "too many connections"), admission_refusal::too_many},
      {failure(failure_cause::rejected, "it refuses this side: unknown ca"), admission_refusal::refused_us},
  };
  admission_counts expected;
  for (const auto& [what, why] : cases) {
    one.refused(rack, what);
    ++expected.connections[static_cast<std::size_t>(why)];
  }
  one.refused(rack, failure(failure_cause::stopped));  // this side ended: nobody was turned away
  one.record_refusal(rack, admission_refusal::bad_frame, "found 3 bytes");
  ++expected.connections[static_cast<std::size_t>(admission_refusal::bad_frame)];
  one.unasked(federated::rejection::duplicate);
  BOOST_TEST(one.counts().connections == expected.connections, boost::test_tools::per_element());
  BOOST_TEST(one.counts().by_word().at("untrusted") == 2U);
  BOOST_TEST(!one.counts().by_word().contains("denied"));
  BOOST_TEST(one.counts().text() ==
             "protocol 1, untrusted 2, expired 1, too-many 1, timed-out 1, refused-us 1, lost 1, bad-frame 1; updates "
             "that ended no task: duplicate 1");
  BOOST_TEST(admission_control().counts().text().empty());
}

// A process that has no files left ends, and peers must not bring it there.
BOOST_AUTO_TEST_CASE(the_ports_of_a_process_share_its_open_files) {
  const auto connections = [](rlim_t files, std::size_t ports) {
    const tests::few_files limit(files);
    return listener_settings_of(net::channel_settings{}, 0, ports).limits.connections;
  };
  BOOST_TEST(connections(148, 1) == 100U);
  BOOST_TEST(connections(148, ports_with_operator) == 50U);
  BOOST_TEST(connections(40, 1) == 1U);
  BOOST_TEST(connections(49, ports_with_operator) == 1U);
}

BOOST_AUTO_TEST_CASE(the_log_does_not_grow_with_those_who_knock) {
  const listening to;
  admission_control one;
  for (int i = 0; i < 100'000; ++i) one.record_refusal(rack, admission_refusal::bad_frame, "found 3 bytes");
  BOOST_TEST(count(one, admission_refusal::bad_frame) == 100'000U);
  BOOST_TEST(to.lines() >= 10U);
  BOOST_TEST(to.lines() <= 10U * 30U);  // 30 s, which it does not take
}

BOOST_AUTO_TEST_SUITE_END()
