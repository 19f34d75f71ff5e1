@0xb98d4e2a61c7f035;
# The content of a server checkpoint, inside a sealed file. Fields are append-only.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("furlong::storage::schema");

struct Checkpoint {
  format @0 :UInt16;
  run @1 :UInt64;
  version @2 :UInt64;
  signature @3 :Text;         # the shared layout: "name rows cols" per tensor, a line each
  model @4 :Data;             # float32, little-endian, in the layout's order
  optimizer @5 :Optimizer;
  reference @6 :List(Float64);
  counts @7 :Accounting;
  resumedAt @8 :List(UInt64);
  wallSeconds @9 :Float64;
  cpuSeconds @10 :Float64;
  trainSeconds @11 :Float64;
  outputs @12 :List(Output);
  trainCpuSeconds @13 :Float64;

  struct Optimizer {
    steps @0 :UInt64;
    slots @1 :List(Data);     # float32, little-endian; each empty or of the model's size
  }

  struct Accounting {
    selected @0 :UInt64;
    folded @1 :UInt64;
    rejected @2 :List(UInt64);  # by reason; a shorter list is of an earlier release
    clientsTrained @3 :UInt64;
    examples @4 :UInt64;
    bytesUp @5 :UInt64;
    bytesDown @6 :UInt64;
  }

  struct Output {
    name @0 :Text;
    bytes @1 :UInt64;
  }
}
