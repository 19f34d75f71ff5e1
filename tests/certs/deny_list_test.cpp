// The deny list: what it denies, and that no mistake in the file lets anybody in.
#include "actors/tls/deny_list.hpp"

#include <thread>

#include "tests/certs/support.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(deny_list)

namespace {

/// A deny list in a folder of its own.
struct denied_nodes {
  temporary_folder folder;
  fs::path file = folder / "deny.txt";
  std::shared_ptr<tls::deny_list> list;
  explicit denied_nodes(const std::string& text) {
    write_file(file, text);
    list = must(tls::deny_list::load(file));
  }
  /// Replaces the file as an editor does: by another one.
  void replace(const std::string& text) const {
    write_file(folder / "other", text);
    fs::rename(folder / "other", file);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_line_denies_a_certificate_or_a_node) {
  const denied_nodes of("# stolen\n\nrack-3/100-149/17  # on Monday\r\n\t phone \nlast/0-9/3");
  BOOST_TEST(of.list->size() == 3U);
  for (const char* name : {"rack-3/100-149/17", "phone/0-9/1", "phone/500-600/99", "phone", "last/0-9/3"})
    BOOST_TEST(of.list->contains(name), name);
  for (const char* name : {"", "rack-3", "rack-3/100-149/18", "rack-3/100-148/17", "rack-3/100-149/1", "phones/0-9/1",
                           "phon", "Phone/0-9/1", "last/0-9/33", "stolen", "/"})
    BOOST_TEST(!of.list->contains(name), name);
}

BOOST_AUTO_TEST_CASE(it_is_read_again_when_it_changed) {
  const denied_nodes of("one\n");
  BOOST_TEST(!must(of.list->refresh()));
  of.replace("two\n");  // of the same size
  BOOST_TEST(of.list->contains("one/0-9/1"));
  BOOST_TEST(must(of.list->refresh()));
  BOOST_TEST(!of.list->contains("one/0-9/1"));
  BOOST_TEST(of.list->contains("two/0-9/1"));
  BOOST_TEST(!must(of.list->refresh()));
  write_file(of.file, "two\nthree\n");  // in place
  BOOST_TEST(must(of.list->refresh()));
  BOOST_TEST(of.list->contains("three/0-9/1"));
  fs::last_write_time(of.file, fs::last_write_time(of.file) + std::chrono::seconds(1));
  BOOST_TEST(must(of.list->refresh()));
  of.replace("");
  BOOST_TEST(must(of.list->refresh()));
  BOOST_TEST(of.list->size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_mistake_lets_nobody_in) {
  const temporary_folder folder;
  must_fail(tls::deny_list::load(folder / "deny.txt"), "deny list cannot be read");
  for (const char* line : {"rack 3", "rack/1-2", "rack/1-2/", "rack/2-1/3", "rack/1-2/3/", "-rack",
                           "r\xC3\xA4"
                           "ck"}) {
    write_file(folder / "deny.txt", "one\n" + std::string(line) + "\n");
    BOOST_TEST(has(must_fail(tls::deny_list::load(folder / "deny.txt"), "is neither").place, "deny.txt, line 2"), line);
  }
  const denied_nodes of("one\ntwo\n");
  of.replace("two\nthree 3\nfour\n");
  for (int i = 0; i < 2; ++i) must_fail(of.list->refresh(), "line 2");
  for (const char* name : {"one/0-9/1", "two/0-9/1", "four/0-9/1"}) BOOST_TEST(of.list->contains(name), name);
  fs::remove(of.file);
  for (int i = 0; i < 2; ++i) must_fail(of.list->refresh(), "cannot be read");
  BOOST_TEST(of.list->contains("one/0-9/1"));
  of.replace("four\n");
  BOOST_TEST(must(of.list->refresh()));
  BOOST_TEST(!of.list->contains("one/0-9/1"));
  BOOST_TEST(of.list->size() == 1U);
}

BOOST_AUTO_TEST_CASE(threads_may_share_it) {
  const denied_nodes of("always\nodd\n");
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> gateways;
  for (int i = 0; i < 3; ++i)
    gateways.emplace_back([&] {
      while (!stop) {
        if (!of.list->refresh() || !of.list->contains("always/0-9/1") || of.list->contains("never/0-9/1")) ++wrong;
      }
    });
  for (int i = 0; i < 200; ++i) of.replace(i % 2 == 0 ? "always\neven\n" : "always\nodd\n");
  stop = true;
  for (auto& one : gateways) one.join();
  BOOST_TEST(wrong == 0);
  must(of.list->refresh());
  BOOST_TEST(of.list->contains("odd/0-9/1"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
