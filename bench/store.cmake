# The private store against one RocksDB family with key prefixes, and under kill -9.
furlong_bench(store
  SOURCES store_bench.cpp store_baseline.cpp store_scale.cpp
          "${PROJECT_SOURCE_DIR}/tests/storage/kill_trial.cpp"
  DEPENDS Furlong::storage)
