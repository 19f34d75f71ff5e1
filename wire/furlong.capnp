# What crosses a network between server, aggregators and client nodes.
#
# A frame is one Message in Cap'n Proto's stream framing with exactly one segment: four zero bytes, the number of
# 8-byte words that follow as a little-endian 32-bit number, then those words. Nothing stands before or after it.
#
# Rules for changing this file: fields are appended, never renumbered or retyped. A reader ignores fields it does not
# know and takes an absent one for zero, so an appended field needs no new protocol version; a change of meaning does.
# Numbers in Data are little-endian and without padding between them. No field holds anything private of a client.

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
  }
}

struct Task {
  # Names one piece of client work.
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
  # SHA-256 (32 bytes) of the shared layout: "name rows cols" and a line feed for each tensor.
  values @3 :Data;
  # float32 of all tensors in the layout's order, row by row.
  reference @4 :List(Float64);
  # The aggregation rule's constants for this round; may be empty.
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
}

struct Tensor {
  values @0 :Data;
  # float32: all of the tensor, or the rows that are listed, in their order.
  union {
    dense @1 :Void;
    rows @2 :Data;
    # uint32 numbers of the rows that changed, strictly increasing. All other rows changed by zero.
  }
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
