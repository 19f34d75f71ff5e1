@0xd2c1a7f05b3e9a61;
# The private store's records on a client's device. Fields are append-only.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("furlong::storage::schema");

struct PrivateRecord {
  # One value of one client. On disk: the message in one segment with its segment table, then the first 16 bytes of its
  # SHA-256 (in an encrypted store, of the HMAC-SHA256). The record names the client, so that a record copied to another
  # client is detected.
  format @0 :UInt16;
  client @1 :UInt32;
  life @2 :UInt32;        # of the run, as counted by the store
  version @3 :UInt64;     # server version at which the value was committed; of a pending one that its task started from
  sequence @4 :UInt64;    # number of the client's commits: the higher of its two records is newer; of a pending one its
                          # task's attempt
  layoutHash @5 :UInt64;  # first 8 bytes of the SHA-256 of the private layout's signature
  values @6 :Data;        # float32, little-endian, in the layout's order; with format 2 first a bit for each row of
                          # the layout (the lowest of a byte first, to a multiple of 4 bytes), then the rows with a 1
}

struct StoreManifest {
  # Description of a store, in a sealed file beside its shards.
  format @0 :UInt16;              # 3
  run @1 :UInt64;
  shards @2 :UInt32;
  signature @3 :Text;             # the private layout: "name rows cols" per tensor, a line each
  layoutHash @4 :Data;            # SHA-256 of the signature
  lives @5 :List(UInt64);         # version that each later opening resumed at
  history @6 :List(UInt64);       # the run's own history as last passed to the store
  layout @7 :UInt16;              # 0: per client; 1: bucketed
  bucketClients @8 :UInt32;       # clients of a family, if bucketed
  keySalt @9 :Data;               # of an encrypted store, else empty
  keyCheck @10 :Data;             # check value of the key
  covered @11 :UInt64;            # values that only checkpoints before this version cover may be overwritten
  storeId @12 :UInt64;            # random, drawn at creation
}

struct ShardState {
  # Content of a shard at a moment: it never has less afterwards.
  shard @0 :UInt32;
  generation @1 :UInt32;
  writes @2 :UInt64;              # to this generation so far
  records @3 :UInt64;
  manifest @4 :UInt64;            # number of RocksDB's MANIFEST
  manifestBytes @5 :UInt64;
  log @6 :UInt64;                 # number of its newest log
  logBytes @7 :UInt64;
}

struct StoreRoot {
  # The last save of a store, in a sealed file beside its shards.
  storeId @0 :UInt64;
  save @1 :UInt64;                # its id; 0: none yet
  version @2 :UInt64;             # server version at which it was made
  baseSave @3 :UInt64;            # of the checkpoint that was durable at the time
  baseVersion @4 :UInt64;
  shards @5 :List(ShardState);    # non-empty ones
}
