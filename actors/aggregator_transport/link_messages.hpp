// The messages between the two ends of an operator link, and with the port that aggregators connect to.
//
//   connecting process                          listening process
//   link --link_open--> acceptor                spawns a link of its own,
//   link <--link_opened-- acceptor              and answers with it
//   link --link_ready--> link                   both have on_open called
//   link <--piece, credit--> link               frames both ways; one credit per processed piece
//   link <--goodbye--> link                     the last message of an orderly end
// CAF sends them between processes in one TLS connection, and reports when that ends. It is not designed for hostile
// peers: the holder of an operator certificate can stop the other processes.
#pragma once

#include <caf/all.hpp>
#include <cstdint>
#include <string>

#include "actors/aggregator_transport/outbox.hpp"

namespace furlong::actors::aggregator_transport {

struct link_open;
struct link_opened;
struct link_ready;
struct credit;
struct goodbye;

}  // namespace furlong::actors::aggregator_transport

// Far above those of actors/interfaces.hpp, so that the headers are independent.
CAF_BEGIN_TYPE_ID_BLOCK(furlong_links, first_custom_type_id + 100)
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::piece))
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::credit))
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::goodbye))
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::link_ready))
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::link_open))
CAF_ADD_TYPE_ID(furlong_links, (furlong::actors::aggregator_transport::link_opened))
CAF_END_TYPE_ID_BLOCK(furlong_links)

namespace furlong::actors::aggregator_transport {

/// Version of these messages. Both sides must use the same.
inline constexpr std::uint32_t link_protocol = 1;
/// Maximum of pieces in flight that the peer has not processed, in each direction.
inline constexpr std::size_t link_credits = 8;

/// A link's interface for the peer.
using remote_link = caf::typed_actor<caf::reacts_to<piece>, caf::reacts_to<credit>, caf::reacts_to<goodbye>,
                                     caf::reacts_to<link_ready>>;
/// A link's interface for its own process. link_opened: the peer and the name in its certificate. wake: check the
/// outbox. close: drain, then end. late: a deadline has passed.
using wake_atom = caf::atom_constant<caf::atom("wake")>;
using close_atom = caf::atom_constant<caf::atom("close")>;
using late_atom = caf::atom_constant<caf::atom("late")>;
using link_actor = remote_link::extend<caf::reacts_to<link_opened, std::string, std::string>, caf::reacts_to<wake_atom>,
                                       caf::reacts_to<close_atom>, caf::reacts_to<late_atom>>;
/// The actor published at the operator port.
using acceptor_actor = caf::typed_actor<caf::replies_to<link_open>::with<link_opened>>;

struct credit {
  std::uint32_t pieces = 0;
};
struct goodbye {
  std::string why;  ///< empty: close() was called
};
struct link_ready {};
struct link_open {
  std::uint32_t protocol = link_protocol;
  remote_link link;
};
struct link_opened {
  remote_link link;
  std::string refusal;  ///< empty if there is a link
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, credit& x) {
  return f(caf::meta::type_name("credit"), x.pieces);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, goodbye& x) {
  return f(caf::meta::type_name("goodbye"), x.why);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_ready&) {
  return f(caf::meta::type_name("link_ready"));
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_open& x) {
  return f(caf::meta::type_name("link_open"), x.protocol, x.link);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_opened& x) {
  return f(caf::meta::type_name("link_opened"), x.link, x.refusal);
}
/// Writes the bytes as they are.
caf::error inspect(caf::serializer& sink, piece& x);
/// Reads at most piece_bytes and piece_slices; more makes a piece with a flaw. Throws nothing: an exception would end
/// all networking of the process.
caf::error inspect(caf::deserializer& source, piece& x);

}  // namespace furlong::actors::aggregator_transport
