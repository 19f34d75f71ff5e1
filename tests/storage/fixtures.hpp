// What the tests of storage/ have in common.
#pragma once

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"
#include "models/parameters.hpp"
#include "tests/support/temporary_folder.hpp"

namespace furlong::tests {

namespace fs = std::filesystem;

/// The private part of a small matrix factorization.
inline models::layout_ptr small_layout(std::uint32_t rank = 50) {
  return std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{"user", 1, rank}, {"user_bias", 1, 1}});
}

/// A value that no other (client, number) has in any element.
inline models::private_parameters make_value(const models::layout_ptr& layout, std::uint32_t client,
                                             std::uint64_t number) {
  models::private_parameters value(layout);
  random_stream draws(number, purpose::test, 0, client);
  for (auto& x : value.values()) x = draws.uniform(-1.0F, 1.0F);
  return value;
}

inline bool same(const models::private_parameters& a, const models::private_parameters& b) {
  return std::ranges::equal(a.values(), b.values());
}

/// The value of a result that must be one.
template <class T>
T must(result<T> r) {
  BOOST_REQUIRE_MESSAGE(r.has_value(), (r ? std::string() : r.error().text()));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// The text of the error that a result must be.
template <class T>
std::string must_fail(const result<T>& r) {
  BOOST_REQUIRE_MESSAGE(!r.has_value(), "this should have failed");
  BOOST_TEST(!r.error().place.empty());
  BOOST_TEST(!r.error().fix.empty());
  return r.error().text();
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void spill(const fs::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// All regular files below a folder whose names end so.
inline std::vector<fs::path> files_below(const fs::path& folder, const std::string& ending = "") {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

}  // namespace furlong::tests
