// bench_secure: a round of secure aggregation without a network, the bars of 10^4 clients with 10 % dropouts and a
// model of 185,300 values.
//
// client: everything that one client computes in a round: keys, shares for its neighbours, the masks of its update, its
// shares of the masks that are left.
// server: letters, and the removal of the masks from the sum. The sum itself is checked for a cohort of 100: there
// every update is masked.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/random.hpp"
#include "bench/common.hpp"
#include "federated/privacy/secure_aggregation/secure_client.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"

namespace {

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::privacy;
using words = std::vector<std::int64_t>;

struct seconds {
  double client = 0.0;   ///< of all clients together, without masks
  double masks = 0.0;    ///< of `masked` clients
  double letters = 0.0;  ///< of the server
  double removal = 0.0;  ///< of the server, on all threads
  std::size_t masked = 0;
  std::size_t left = 0;     ///< masks in the sum
  std::uint64_t bytes = 0;  ///< of all letters up and down
};

double timed(double& total, const std::function<void()>& work) {
  const double before = bench::thread_cpu_seconds();
  work();
  const double took = bench::thread_cpu_seconds() - before;
  total += took;
  return took;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_secure: %s\n", why.c_str());
  std::exit(4);
}

class round_of_clients {
 public:
  round_of_clients(std::uint32_t clients, std::size_t size, std::size_t masked) : size_(size), masked_(masked) {
    for (std::uint32_t i = 0; i < clients; ++i) cohort_.push_back({1, 1, i, 0});
    server_.emplace(cohort_, 1, adversary_kind::semi_honest, known_inputs{}, crypto::system_random());
    clients_.reserve(clients);
  }

  seconds run(std::size_t threads) {
    secure_letters out;
    for (const auto& id : cohort_) {
      timed(spent_.client, [&] { clients_.emplace_back(id, sum_terms{}, sum_inputs{}, crypto::system_random()); });
      deliver_up(clients_.back().last(), out);
    }
    exchange(out);
    words sum(size_, 0);
    std::vector<task_id> survivors;
    for (const auto& id : cohort_) {
      if (id.client % 10 == 3) continue;  // a tenth drops out with its masks in the sum
      mask(id, sum);
      survivors.push_back(id);
    }
    timed(spent_.letters, [&] { server_->begin_unmasking(survivors, out); });
    exchange(out);
    if (server_->at() != secure_server::stage::open) give_up("the sum was not opened: " + server_->failure());
    spent_.left = server_->removal().size();
    remove(sum, threads);
    if (masked_ == cohort_.size() && sum != words(size_, static_cast<std::int64_t>(survivors.size())))
      give_up("the opened sum is not the sum of the updates");
    return spent_;
  }

 private:
  void deliver_up(const secure_letter& letter, secure_letters& out) {
    spent_.bytes += letter_bytes(letter);
    timed(spent_.letters, [&] { static_cast<void>(server_->on_letter(letter, out)); });
  }

  void exchange(secure_letters& out) {
    while (!out.empty())
      for (const auto& letter : std::exchange(out, {})) {
        spent_.bytes += letter_bytes(letter);
        result<std::optional<secure_letter>> answer;
        timed(spent_.client, [&] { answer = clients_[letter.task.client].on_letter(letter); });
        if (!answer) give_up(answer.error().text());
        if (*answer) deliver_up(**answer, out);
      }
  }

  /// Of the first clients really; the others only claim to have masked their updates.
  void mask(const task_id& id, words& sum) {
    const bool whole = id.client < masked_;
    words update(whole ? size_ : 1, 1);
    double ignored = 0.0;
    timed(whole ? spent_.masks : ignored, [&] {
      if (!clients_[id.client].mask(update)) give_up("a client cannot mask its update");
    });
    if (!whole) return;
    ++spent_.masked;
    for (std::size_t i = 0; i < size_; ++i)
      sum[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[i]) + static_cast<std::uint64_t>(update[i]));
  }

  void remove(words& sum, std::size_t threads) {
    std::vector<words> parts(threads);
    std::vector<double> cpu(threads, 0.0);
    bench::run_at_once(threads, [&](std::size_t i) {
      timed(cpu[i], [&] {
        auto& part = i == 0 ? sum : parts[i];
        part.resize(size_, 0);
        server_->removal().apply(part, i, threads);
      });
    });
    for (std::size_t i = 0; i < threads; ++i) spent_.removal += cpu[i];
    for (std::size_t i = 1; i < threads; ++i)
      for (std::size_t j = 0; j < size_; ++j)
        sum[j] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[j]) + static_cast<std::uint64_t>(parts[i][j]));
  }

  std::size_t size_;
  std::size_t masked_;
  std::vector<task_id> cohort_;
  std::vector<secure_client> clients_;
  std::optional<secure_server> server_;
  seconds spent_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto clients = static_cast<std::uint32_t>(bench::count_argument(argc, argv, "--clients", 10'000));
  const auto size = bench::count_argument(argc, argv, "--values", 185'300);
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  bench::figures out("secure");
  constexpr std::uint32_t few = 100;
  static_cast<void>(round_of_clients(few, size, few).run(threads));
  const auto spent = round_of_clients(clients, size, std::min<std::size_t>(200, clients)).run(threads);
  const auto count = static_cast<double>(clients);
  const auto per_client = 1000 * (spent.client / count + spent.masks / static_cast<double>(spent.masked));
  const auto name = std::to_string(clients) + "-clients";
  out.add({name, "client", per_client, "ms", "bar-30-ms", 30.0 / per_client, 1.0});
  out.add({name, "client_masks", 1000 * spent.masks / static_cast<double>(spent.masked), "ms"});
  const auto server = spent.letters + spent.removal;
  out.add({name, "server", server, "core-s", "bar-30-core-s", 30.0 / server, 1.0});
  out.add({name, "server_letters", spent.letters, "core-s"});
  out.add({name, "server_masks", static_cast<double>(spent.left), "masks"});
  out.add({name, "letters_per_client", static_cast<double>(spent.bytes) / count / 1000, "kB"});
  return 0;
}
