#include "tests/wire/forged_update.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>

#include "models/digest.hpp"
#include "wire/furlong.capnp.h"
#include "wire/message.hpp"

namespace furlong::wire::samples {

std::vector<std::byte> forged_update(const federated::task_id& task, const models::layout& shape, unsigned tensors) {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<schema::Message>();
  root.setProtocol(protocol_version);
  auto update = root.initUpdate();
  auto id = update.initTask();
  id.setRun(task.run);
  id.setVersion(task.version);
  id.setClient(task.client);
  id.setAttempt(task.attempt);
  const auto digest = models::layout_digest(shape);
  update.setLayout({digest.data(), digest.size()});
  update.initTensors(tensors);
  const auto words = capnp::messageToFlatArray(builder);
  const auto flat = words.asBytes();
  std::vector<std::byte> frame(flat.size());
  std::memcpy(frame.data(), flat.begin(), flat.size());
  return frame;
}

}  // namespace furlong::wire::samples
