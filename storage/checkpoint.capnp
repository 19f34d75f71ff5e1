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
  now @14 :Int64;             # microseconds of the run's clock
  open @15 :List(OpenTask);
  startedFrom @16 :List(OldModel);
  simulation @17 :Simulation;
  targetReached @18 :Int64 = -1;  # microseconds; -1: not yet
  targetVersion @19 :UInt64;
  clients @20 :UInt64;        # number of records in the participation log
  participationBytes @21 :UInt64;  # of the participation log that this checkpoint covers
  kernelLevel @22 :Text;      # of the kernels that computed it
  startId @23 :UInt64;        # drawn when the run started from nothing; 0: it did not
  best @24 :BestModel;        # absent: none
  dataSha256 @25 :Text;       # of the data files; empty: none
  targetId @26 :Text;         # of the target that was reached
  privateSave @27 :PrivateSave;  # of the run's private store
  kernelLevels @28 :List(Text);  # of all participating processes
  lives @29 :List(UInt64);    # random ids of the lives of resumedAt
  stores @30 :List(NodeStore);  # of a federation's nodes
  stateLost @31 :UInt64;      # clients whose private values a node lost
  sizes @32 :SizeCounts;      # of the updates of recent versions
  losses @33 :LossWatch;   
  addedSignature @34 :Text;   # of tensors that the algorithm adds on the server; empty: none
  added @35 :Data;            # their values, as model
  progress @36 :Progress;     # of the validation figure; absent: none
  code @37 :Text;             # digests and names of source files; empty: none
  evaluationDue @38 :Bool;    # of the model of this version
  unwrittenRound @39 :Text;   # then: the line of its round in metrics.jsonl
  codeChanged @40 :Bool;      # between rounds
  arithmetic @41 :Text;       # that the code computes with; empty: unknown

  struct Optimizer {
    steps @0 :UInt64;
    slots @1 :List(Data);     # float32, little-endian; each empty or of the model's size
  }

  struct Accounting {
    selected @0 :UInt64;
    folded @1 :UInt64;
    rejected @2 :List(UInt64);  # by reason
    clientsTrained @3 :UInt64;
    examples @4 :UInt64;
    bytesUp @5 :UInt64;
    bytesDown @6 :UInt64;
    late @7 :UInt64;
    surplus @8 :UInt64;
    dropped @9 :List(UInt64);   # by stage
    abandoned @10 :UInt64;
    roundsAbandoned @11 :UInt64;
    stalenessSum @12 :UInt64;
    stalenessMax @13 :UInt64;
  }

  struct OpenTask {
    version @0 :UInt64;
    client @1 :UInt32;
    attempt @2 :UInt32;
    aggregator @3 :UInt32;
    startedAt @4 :Int64;
    closed @5 :Bool;
    surplus @6 :Bool;
  }

  struct OldModel {
    version @0 :UInt64;
    model @1 :Data;             # float32, little-endian, in the order of the layout of broadcasts
    normLimit @2 :UInt8;        # of updates that start from it; 0: none
    rowLimit @3 :UInt8;
    weightLimit @4 :UInt8;
  }

  struct SizeCounts {
    norms @0 :List(UInt32);     # by level
    rows @1 :List(UInt32);
    weights @2 :List(UInt32);
  }

  struct LossWatch {
    training @0 :Float64 = nan; # first value; nan: none yet
    evaluation @1 :List(Float64);  # the same, by group
    diverged @2 :Text;          # the reason of a divergence; empty: none
    rejectedInARow @3 :UInt64;  # updates
    beatConstant @4 :List(Bool);  # by group: some evaluation was clearly better than a constant prediction
    scoring @5 :Text;           # of these evaluations
  }

  struct PrivateSave {
    store @0 :UInt64;
    id @1 :UInt64;
    version @2 :UInt64;
  }

  struct NodeStore {
    first @0 :UInt32;
    last @1 :UInt32;
    store @2 :UInt64;
    openings @3 :UInt64;
    since @4 :UInt64;
    node @5 :Text;
  }

  struct BestModel {
    figure @0 :Float64;
    version @1 :UInt64;
    model @2 :Data;             # as Checkpoint.model
    metric @3 :Text;            # metric of figure
    scoring @4 :Text;           # how it was scored
    added @5 :Data;             # as Checkpoint.added
  }

  struct Progress {
    metric @0 :Text;            # as BestModel's
    scoring @1 :Text;
    figure @2 :Float64;         # the best
    best @3 :UInt64;            # version that has it
    evaluated @4 :UInt64;       # last evaluated version
  }

  struct SimulatedTask {
    version @0 :UInt64;
    client @1 :UInt32;
    attempt @2 :UInt32;
    startedAt @3 :Int64;
    trainedAt @4 :Int64;
    endsAt @5 :Int64;
    dropped @6 :UInt8 = 255;    # stage; 255: not dropped
    cause @7 :UInt8;            # of a dropout
    offline @8 :List(Int64);    # beginnings and ends of its disconnections, in order
  }

  struct Simulation {
    tasks @0 :List(SimulatedTask);
    events @1 :List(UInt32);
    erasures @2 :List(UInt32);
  }

  struct Output {
    name @0 :Text;
    bytes @1 :UInt64;
  }
}

# A block of the participation log: records of the clients that participated since the previous block.
struct Participation {
  clients @0 :List(UInt32);
  selected @1 :List(UInt32);
  folded @2 :List(UInt32);
  lastSelection @3 :List(UInt64);
  endedAt @4 :List(Int64);
  trainedAt @5 :List(Int64);
  askedVersion @6 :List(UInt32);
  attempt @7 :List(UInt32);
  reportedVersion @8 :List(UInt32);
  trainedVersion @9 :List(UInt32);
  loss @10 :List(Float32);
  foldedVersion @11 :List(UInt32);
}
