// The parts of Boost.Asio that the transport uses. Only sources include this.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <utility>  // boost/asio/awaitable.hpp uses std::exchange without it

namespace furlong::actors::net::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace furlong::actors::net::detail
