// Authorities and certificates for tests, made anew by each.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "actors/operator/configure.hpp"

namespace furlong::tests {

/// A folder that is there as long as this object.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// An authority with a folder of its own.
class test_authority {
 public:
  test_authority();
  ~test_authority();
  test_authority(const test_authority&) = delete;
  test_authority& operator=(const test_authority&) = delete;

  /// A certificate of this authority and its key, in files.
  /// @param days until it expires; negative: since when it is expired
  [[nodiscard]] actors::links::operator_files issue(const std::string& name, int days = 1) const;

 private:
  struct secrets;
  temporary_folder folder_;
  std::unique_ptr<secrets> secrets_;
};

}  // namespace furlong::tests
