#include "tests/net/ends.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/random.hpp"

namespace furlong::tests {

wire::encoded make_frame(std::size_t bytes, std::uint32_t seed) {
  const auto values = static_cast<std::uint32_t>(std::max<std::size_t>(bytes / sizeof(float), 1));
  const auto shape = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"t", 1, values}});
  models::shared_parameters model(shape);
  random_stream random(seed, purpose::test);
  // A few drawn values, moved along: drawing forty megabytes takes longer than sending them.
  std::vector<float> drawn(4099);
  for (auto& value : drawn) value = random.uniform();
  const auto flat = model.values();
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = drawn[i % drawn.size()];
  return wire::encoder(shape).encode(federated::broadcast{1, seed, std::move(model), {}}).value();
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

net::channel_events witness::events() {
  return {[this](net::received frame) {
            const std::lock_guard lock(mutex_);
            ++frame_count;
            byte_count += frame.bytes().size();
            if (keep) frames.push_back(std::move(frame));
            changed_.notify_all();
          },
          [this](const error& why) {
            const std::lock_guard lock(mutex_);
            closed = why;
            ++closings;
            changed_.notify_all();
          }};
}

void witness::opened(net::channel_ptr by) {
  const std::lock_guard lock(mutex_);
  channel = std::move(by);
  changed_.notify_all();
}
void witness::failed(const net::connect_failure& why) {
  const std::lock_guard lock(mutex_);
  failure = why;
  changed_.notify_all();
}
std::optional<std::string> witness::wait_closed(milliseconds most) {
  if (!wait([&] { return closed.has_value(); }, most)) return std::nullopt;
  return closed->reason;
}
std::optional<net::connect_failure> witness::wait_failed() {
  if (!wait([&] { return failure.has_value() || channel != nullptr; })) return std::nullopt;
  return failure;
}
std::vector<net::received> witness::take_frames() {
  const std::lock_guard lock(mutex_);
  return std::exchange(frames, {});
}
void witness::let_go(bool keep_further) {
  std::vector<net::received> dropped;  // outside the lock
  const std::lock_guard lock(mutex_);
  dropped.swap(frames);
  keep = keep_further;
}

gateway::gateway(test_pki& pki, gateway_options options) : keep_(options.keep), transport_(options.threads) {
  std::optional<net::tls_context> tls;
  if (options.secured)
    tls = net::tls_context::for_server(options.certificate ? *options.certificate : pki.gateway()).value();
  net::listener_events events;
  events.accept_peer = std::move(options.accept_peer);
  events.on_open = [this](net::channel_ptr channel) {
    auto seen = std::make_shared<witness>();
    seen->keep = keep_;
    seen->opened(std::move(channel));
    const std::lock_guard lock(mutex_);
    channels_.push_back(seen);
    changed_.notify_all();
    auto calls = seen->events();
    return net::channel_events{[seen, calls](net::received frame) { calls.on_frame(std::move(frame)); },
                               [seen, calls](const error& why) { calls.on_closed(why); }};
  };
  events.on_refused = [this](const net::peer&, const net::connect_failure& why) {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(why);
    changed_.notify_all();
  };
  const auto at = net::parse_address(options.at).value();
  auto opened = net::listener::open(transport_, at, std::move(tls), options.settings, std::move(events));
  if (!opened) throw std::runtime_error(opened.error().text());
  listener_ = std::move(*opened);
}

std::shared_ptr<witness> gateway::wait_channel(std::size_t n) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, long_time, [&] { return channels_.size() > n; })) return nullptr;
  return channels_[n];
}
std::size_t gateway::channels() {
  const std::lock_guard lock(mutex_);
  return channels_.size();
}
std::optional<net::connect_failure> gateway::wait_refusal(std::size_t n, milliseconds most) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, most, [&] { return refusals_.size() > n; })) return std::nullopt;
  return refusals_[n];
}
std::size_t gateway::refusals() {
  const std::lock_guard lock(mutex_);
  return refusals_.size();
}

std::shared_ptr<witness> connect_to(net::transport& on, const net::host_port& to, std::optional<net::tls_context> tls,
                                    const net::channel_settings& settings) {
  auto seen = std::make_shared<witness>();
  net::connect_events events;
  events.on_open = [seen](net::channel_ptr channel) {
    seen->opened(std::move(channel));
    auto calls = seen->events();
    return net::channel_events{[seen, calls](net::received frame) { calls.on_frame(std::move(frame)); },
                               [seen, calls](const error& why) { calls.on_closed(why); }};
  };
  events.on_failed = [seen](const net::connect_failure& why) { seen->failed(why); };
  net::connect(on, to, std::move(tls), settings, nullptr, std::move(events));
  return seen;
}

net::tls_context client_context(const net::tls_paths& paths) { return net::tls_context::for_client(paths).value(); }

net::channel_settings impatient() {
  net::channel_settings settings;
  settings.heartbeat = milliseconds(100);
  settings.timeout = milliseconds(200);
  return settings;
}
net::channel_settings unhurried() {
  net::channel_settings settings;
  settings.heartbeat = milliseconds(200);
  settings.timeout = milliseconds(800);
  return settings;
}

}  // namespace furlong::tests
