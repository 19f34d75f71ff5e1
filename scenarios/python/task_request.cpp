#include "scenarios/python/task_request.hpp"

namespace furlong::scenarios {

namespace {

enum flag : std::uint32_t { trains = 1, has_state = 2, known = 4 };

std::uint32_t flags_of(const federated::client_kind& kind) {
  return (kind.trains ? flag::trains : 0U) | (kind.has_state ? flag::has_state : 0U) | (kind.known ? flag::known : 0U);
}

}  // namespace

void task_request::write(std::span<const std::uint32_t> starts, std::uint32_t round, request_buffer& request,
                         large_floats& copies) const {
  const auto part = examples.empty() ? std::size_t{client} * 3 : part_of(starts, examples.front());
  const auto put = [&](std::size_t number) { request.put(static_cast<std::uint32_t>(number)); };
  request.clear();
  request.put(seed);
  for (const std::size_t number : {std::size_t{round}, weights.size(), added.size(), std::size_t{client}, part % 3,
                                   std::size_t{per_epoch}, examples.size(), settings.size()})
    put(number);
  if (question) {
    put(flags_of(question->who));
    put(static_cast<std::size_t>(question->what));
    put(question->asked.size());
  }

  memory_room room(copies);
  for (const auto& view : weights) room.expect(view.data, view.size());
  for (const auto& view : weights) room.expect_new(view.size());
  for (const auto& array : added) room.expect(array);
  for (const auto& view : weights) request.put(room.place(view.data, view.size(), true));
  for (const auto& view : weights) request.put(room.place_new(view.size()));
  for (const auto& array : added)
    for (const auto offset : room.place(array)) request.put(offset);
  for (const auto example : examples) put(example - starts[part]);
  if (question)
    for (const auto example : question->asked) {
      const auto its = part_of(starts, example);
      put(its % 3);
      put(example - starts[its]);
    }
  request.put(std::span<const char>(settings));
}

void task_request::read_copies(large_floats& copies) const {
  memory_room room(copies);
  for (const auto& view : weights) room.skip(view.data, view.size());
  if (out.empty()) return;
  for (std::size_t t = 0; t < weights.size(); ++t) room.fetch_new(out[t], weights[t].size());
  for (const auto& array : added) room.fetch(array);
}

}  // namespace furlong::scenarios
