# Messages between server, aggregators and client nodes.
#
# A frame is one Message in Cap'n Proto's stream framing with exactly one segment: four zero bytes, the number of
# 8-byte words that follow as a little-endian 32-bit number, then those words. Nothing stands before or after it.
#
# Rules for changing this file: fields are appended, never renumbered or retyped. A reader ignores fields it does not
# know, so an appended field that it can do without needs no new protocol version; any other change does.
# Numbers in Data are little-endian and without padding between them. Where several Data fields of one message stand for
# a list, entry i of each belongs to entry i of the others. No field holds anything private of a client.
#
# A task in Data is 24 bytes: run (8), version (8), client (4), attempt (4). A member is 8: client (4), attempt (4).
# Text is UTF-8. Text without further note is one line of at most 256 bytes; lists have at most 2^20 entries.

@0xb0a210710846d690;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("furlong::wire::schema");

struct Message {
  protocol @0 :UInt16;
  # Checked before anything else is read. Now 1.

  union {
    task @1 :Task;
    broadcast @2 :Broadcast;
    update @3 :Update;
    partial @4 :Partial;
    hello @5 :Hello;
    branchHello @6 :BranchHello;
    welcome @7 :Welcome;
    redirect @8 :Redirect;
    assignment @9 :Assignment;
    taskFailures @10 :TaskList;
    verdicts @11 :Verdicts;
    checkpointed @12 :Checkpointed;
    evaluationRequest @13 :EvaluationRequest;
    evaluationScores @14 :EvaluationScores;
    attached @15 :Attached;
    detached @16 :Detached;
    closeRequest @17 :CloseRequest;
    withdrawal @18 :TaskList;
    withdrawn @19 :TaskList;
    settled @20 :Settled;
    closeNotice @21 :CloseNotice;
    tasksLost @22 :TasksLost;
    ready @23 :Ready;
    displaced @24 :Displaced;
    letters @25 :Letters;
    maskedUpdate @26 :MaskedUpdate;
  }
}

enum Encoding {
  # Of the numbers of one tensor in Data.
  float32 @0;
  float16 @1;
  int8 @2;
  # First a float32 scale, finite and not negative, for every 256 numbers (the last may have fewer), then an int8 code
  # for each number: number = scale * code.
}

struct Task {
  # Identifies one client task.
  run @0 :UInt64;
  version @1 :UInt64;
  # Server version that the work starts from.
  client @2 :UInt32;
  attempt @3 :UInt32;
}

struct Broadcast {
  # The server's model of one version.
  run @0 :UInt64;
  version @1 :UInt64;
  layout @2 :Data;
  # SHA-256 (32 bytes) of the layout of broadcasts: "name rows cols" and a line feed for each tensor.
  values @3 :Data;
  # All tensors in the layout's order, row by row, each in the encoding below; those that the algorithm says are exact
  # in float32.
  reference @4 :List(Float64);
  # The aggregation rule's constants for this round, always as many; or none.
  encoding @5 :Encoding;
  zstd @6 :Bool;
  # The values are one zstd frame (RFC 8878) that states the size of its content.
  normLimit @7 :UInt8;
  rowLimit @8 :UInt8;
  weightLimit @9 :UInt8;
  # Highest levels of norm, longest row and weight of an update that starts from this model: level l ends at 2^((l - 127) / 4).
  # 0: none.
}

struct Update {
  # What a client reports.
  task @0 :Task;
  weight @1 :UInt32;
  examples @2 :UInt64;
  lossSum @3 :Float64;
  layout @4 :Data;
  tensors @5 :List(Tensor);
  # One per tensor of the layout, in its order.
  encoding @6 :Encoding;
  # Of the values of all tensors but those that the algorithm says are exact: float32.
}

struct MaskedUpdate {
  # What a client reports under secure aggregation.
  task @0 :Task;
  layout @1 :Data;
  words @2 :Data;
  # int64: as the accumulator's content after this update alone, with masks added modulo 2^64.
  version @3 :UInt64;
  # Of the server: the sum in which the masks cancel is applied to it.
}

struct Tensor {
  values @0 :Data;
  # All of the tensor, or the rows that are listed, in their order, in the update's encoding.
  union {
    dense @1 :Void;
    rows @2 :Data;
    # uint32 numbers of the rows that changed, strictly increasing. All other rows changed by zero.
  }
  zstd @3 :Bool;
  # The values are one zstd frame that states the size of its content.
}

struct Partial {
  # What an aggregator sends up for all clients below it.
  run @0 :UInt64;
  version @1 :UInt64;
  aggregator @2 :UInt32;
  weight @3 :UInt64;
  examples @4 :UInt64;
  lossFixed @5 :Int64;
  # Sum of losses in units of 2^-20.
  layout @6 :Data;
  folded @7 :List(Member);
  # Clients strictly increasing.
  refused @8 :List(Refused);
  # Clients not decreasing.
  sums @9 :Data;
  # int64: the accumulator's content.
}

struct Member {
  client @0 :UInt32;
  attempt @1 :UInt32;
}

struct Refused {
  client @0 :UInt32;
  attempt @1 :UInt32;
  why @2 :Rejection;
}

enum Rejection {
  unknownTask @0;
  staleVersion @1;
  duplicate @2;
  wrongShape @3;
  notFinite @4;
  normBound @5;
  weightBound @6;
  attentionRange @7;
  clientFailed @8;
}

struct Hello {
  # A node begins a session.
  software @0 :Text;
  first @1 :UInt32;
  last @2 :UInt32;
  # It hosts the clients first to last, both included.
  run @3 :UInt64;
  # Run of an earlier session, or 0.
  holding @4 :Data;
  # Tasks in progress, or done and not acknowledged.
  avoid @5 :Text;
  # "host:port" of a gateway that it could not reach or lost; may be empty.
  instance @6 :UInt64;
  # Drawn by its process: no other node has it. 0: none was drawn.
  kernelLevel @7 :Text;
  # Of the kernels that it computes with.
  claim @8 :StoreClaim;
  # Its store as of now.
  kernelLevels @9 :Text;
  # All that it can compute with, separated by commas.
}

struct StoreClaim {
  # A node's claim about its private store.
  store @0 :UInt64;
  # Random id. 0: it has none, or no private values are kept.
  openings @1 :UInt64;
  # How often a node has opened it.
  served @2 :UInt64;
  # Version of the last update that was reported with its values in it, plus 1; 0: none.
  acceptsLoss @3 :Bool;
  # Values may be missing: the clients start anew.
}

struct BranchHello {
  # An aggregator begins a session.
  software @0 :Text;
  name @1 :Text;
  gateway @2 :Text;
  # "host:port" at which nodes reach it; empty: nowhere.
  operators @3 :Text;
  # "host:port" at which other aggregators reach it; empty: nowhere.
  kernelLevel @4 :Text;
  kernelLevels @5 :Text;
  # Both as in Hello.
}

struct Welcome {
  # Everything needed to work on a run.
  run @0 :UInt64;
  scenario @1 :Text;
  # Resolved TOML, at most 1 MiB; may have line breaks and tabs.
  resumedAt @2 :Data;
  # uint64: version of the checkpoint that life 1, 2, ... of the run began from.
  covered @3 :UInt64;
  # Version of the last durable checkpoint.
  features @4 :UInt32;
  clients @5 :UInt32;
  # Of the whole population: feature and client numbers are below these.
  labels @6 :Objective;
  # What the labels of the data are.
  aggregator @7 :UInt32;
  # Number of the aggregator that is welcome; to a node, of its gateway.
  startId @8 :UInt64;
  # Drawn when the run began from nothing: a run that began anew has another one. 0: it was not drawn.
  classes @9 :UInt32;
  # Labels are below this, where labels are class numbers; else 0.
  words @10 :UInt32;
  # Features below this, at most all, are words of the vocabulary, the others buckets of unknown words; 0: features are
  # no tokens.
  kernelLevel @11 :Text;
  # Of the server: with network.kernel_levels = "common" for all.
  lives @12 :Data;
  # uint64, one for each of resumedAt: random ids of these lives; 0: none was drawn.
  parts @13 :Text;
  # Of the run's algorithm, rule, model and data, those that are no part of furlong: lines "VERSION PART", at most 4096
  # bytes in all. All processes must have these versions.
}

enum Objective {
  squaredError @0;
  logistic @1;
  categorical @2;
  nextToken @3;
  custom @4;
  ranking @5;
}

struct Ready {
  # A node has made ready for the run: its clients can be reached from now on.
  run @0 :UInt64;
  claim @1 :StoreClaim;
  # Its store, made ready for the run.
  sizes @2 :Data;
  # Of its clients, in order: 16 bytes each, four uint32: examples to train on; most predictions scored of it in the
  # validation, seen and unseen groups.
}

struct Displaced {
  # Stop a node.
  instance @0 :UInt64;
  # As its hello said.
  why @1 :Text;
  remedy @2 :Text;
  # One line of at most 1024 bytes each. Empty: another node took the place of this one.
}

struct Redirect {
  # Connect to another gateway; an aggregator, to another operator port.
  address @0 :Text;
  # "host:port", not empty.
}

struct Assignment {
  # Tasks on the model of a version, which was sent before.
  run @0 :UInt64;
  version @1 :UInt64;
  begins @2 :Bool;
  # To an aggregator: a new share begins.
  tasks @3 :Data;
  # Members.
}

struct TaskList {
  tasks @0 :Data;
}

struct Verdicts {
  # Verdicts on updates.
  tasks @0 :Data;
  kinds @1 :Data;
  # uint8: 0 durable, 1 unwanted, 2 rejected, 3 taken.
  reasons @2 :Data;
  # uint8: a Rejection where it was rejected, or else 0.
  version @3 :UInt64;
  # Those that were taken are in the model of the version after this one.
}

struct Checkpointed {
  # A checkpoint of this version is durable.
  version @0 :UInt64;
}

struct EvaluationRequest {
  # Score these clients on the model of a version, which was sent before.
  version @0 :UInt64;
  groups @1 :Data;
  # uint8: 0 validation, 1 seen, 2 unseen.
  clients @2 :Data;
  # uint32.
}

struct EvaluationScores {
  # Some of the answers.
  version @0 :UInt64;
  groups @1 :Data;
  # uint8, as in the request.
  clients @2 :Data;
  # uint32.
  squaredErrors @3 :Data;
  losses @4 :Data;
  # float64 each; where finite, not below 0 (but for rounding), nor beyond what so many predictions in float32 can err.
  # Those of a model that diverged are not finite.
  correct @5 :Data;
  examples @6 :Data;
  # uint64 each; correct is not above examples, and these are at most 2^40.
  oddsCounts @7 :Data;
  # uint32: how many of the following are the client's; not more than it has examples.
  predictions @8 :Data;
  # float32, of all clients in a row.
  classes @9 :Data;
  # uint8: 0 or 1, one for each prediction.
  words @10 :Data;
  wordsCorrect @11 :Data;
  # uint64 each, of nextToken: predictions whose target is a word of the vocabulary, at most examples; of these the
  # right ones. Empty: all 0.
  inside @12 :Data;
  insideCorrect @13 :Data;
  # The same of predictions whose target is not the end of the sentence.
  metricCount @15 :UInt32;
  # Metrics of the model's own or figures of rankings, the same number for each client.
  metrics @16 :Data;
  # float64: of each client in order, of each metric, a sum and a count.
  unscored @14 :Bool;
  # By an aggregator: these clients were not scored, since their node is not reached there.
  spreads @17 :Data;
  # float64: of ratings, the sum of the squared differences of a client's labels from their mean. Empty: all 0.
}

struct Attached {
  # These clients are connected here.
  first @0 :UInt32;
  last @1 :UInt32;
  holding @2 :Data;
  # Tasks that the node holds.
  node @3 :Text;
  # Its name; may be empty.
  instance @4 :UInt64;
  kernelLevel @5 :Text;
  # As its hello said.
  claim @6 :StoreClaim;
  sizes @7 :Data;
  # As it said when it was ready.
}

struct Detached {
  # These clients are disconnected.
  first @0 :UInt32;
  last @1 :UInt32;
  strayed @2 :Bool;
  # An aggregator was lost: their node may run.
  failure @3 :Text;
  # Of a node that ended since a part of the run failed on it: the reason, one line of at most 1024 bytes. Empty: the
  # node may come back.
}

struct Letters {
  # Letters of secure aggregation between clients and the server. Others only pass them on.
  tasks @0 :Data;
  steps @1 :Data;
  # uint8: 0 keys, 1 neighbours, 2 shares, 3 peers, 4 unmask, 5 reveal, 6 abandon.
  sizes @2 :Data;
  # uint32: bytes of each letter's content.
  contents @3 :Data;
  # Of all letters in a row.
}

struct CloseRequest {
  # Close the share of this version.
  version @0 :UInt64;
  enough @1 :Bool;
}

struct Settled {
  # Outcomes of tasks.
  tasks @0 :Data;
  outcomes @1 :Data;
  # uint8: 0 folded, 1 rejected, 2 late, 3 surplus, 4 dropped, 5 abandoned.
  reasons @2 :Data;
  # uint8: a Rejection where it was rejected, or else 0.
  stages @3 :Data;
  # uint8: 0 download, 1 train, 2 upload where it was dropped, or else 0.
  examples @4 :Data;
  bytes @5 :Data;
  # uint64 each: processed for the update; encoded size of the update.
  losses @6 :Data;
  # float64: mean per example, as the client said.
  distanceCounts @7 :Data;
  # uint32: how many of the following are the task's. Empty: all 0.
  distances @8 :Data;
  # float32, finite, of all tasks in a row: how far a folded update moved each shared tensor, where the run reports
  # attention.
  normLevels @9 :Data;
  rowLevels @10 :Data;
  weightLevels @11 :Data;
  # uint8: levels of the update's size, as in Broadcast; 0: unknown. Empty: all 0.
}

struct CloseNotice {
  # The session is over.
  why @0 :Text;
  # One line of at most 1024 bytes.
  final @1 :Bool;
  # For good.
  unwanted @2 :Bool;
  # For good, and the run goes on without the other side.
  remedy @3 :Text;
  # What the other side should do: one line of at most 1024 bytes; may be empty.
  failed @4 :Bool;
  # For good: the run has failed, and the server cannot resume it. In a notice that is not
  # final, from a node: a part of the run failed on it, and it ended; from an aggregator: the run cannot go on, and it
  # waits to be told its end.
}

struct TasksLost {
  # An aggregator lost another one below it, and the end of these tasks with it.
  folded @0 :Data;
  # Tasks that it had reported as aggregated in the current share.
  open @1 :Data;
  # Tasks without an outcome.
}
