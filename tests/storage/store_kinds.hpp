// The kinds of durable store: each test that is about more than one runs with all.
#pragma once

#include <array>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cstdlib>
#include <ostream>

#include "storage/key_file.hpp"
#include "storage/rocks_store.hpp"
#include "tests/storage/fixtures.hpp"

namespace furlong::tests {

struct store_kind {
  storage::store_layout layout = storage::store_layout::per_client;
  bool encrypted = false;

  /// The key file of all encrypted stores of this process; empty where there is none.
  [[nodiscard]] fs::path key_file() const {
    static const temporary_folder folder;
    const auto file = folder.path() / "key";
    if (!fs::exists(file)) must(storage::create_key_file(file));
    return encrypted ? file : fs::path();
  }
  /// `of` with this kind's settings; buckets are small, so that few clients fill several.
  [[nodiscard]] storage::store_options options(storage::store_options of = {}) const {
    of.layout = layout;
    of.bucket_clients = 100;
    of.key_file = key_file();
    return of;
  }
  std::unique_ptr<storage::rocks_store> inspect(const fs::path& folder, storage::store_access access) const {
    return must(storage::rocks_store::inspect(folder, access, key_file()));
  }
  [[nodiscard]] bool bucketed() const { return layout == storage::store_layout::bucketed; }
  /// Bytes in front of the content of each of RocksDB's files.
  [[nodiscard]] std::size_t head_bytes() const { return encrypted ? 32 : 0; }

  friend std::ostream& operator<<(std::ostream& out, const store_kind& kind) {
    return out << name_of(kind.layout) << (kind.encrypted ? ", encrypted" : ", plain");
  }
};

inline const std::array all_kinds{
    store_kind{storage::store_layout::per_client, false}, store_kind{storage::store_layout::bucketed, false},
    store_kind{storage::store_layout::per_client, true}, store_kind{storage::store_layout::bucketed, true}};

/// Random damages for each kind and size; FURLONG_STORE_DAMAGES asks for more. tests/campaigns/damages.py makes 300 of
/// a run.
inline int damages() {
  const char* asked = std::getenv("FURLONG_STORE_DAMAGES");
  return asked == nullptr ? 40 : std::atoi(asked);
}

}  // namespace furlong::tests
