#include "bench/trainee.hpp"

#include <utility>

namespace furlong::bench {

trainee::trainee(std::shared_ptr<const models::model> model, const models::examples& data,
                 const models::sgd_options& how)
    : model_(std::move(model)),
      how_(how),
      parts_(models::split(model_->tensors(), {}).value()),
      start_(parts_.shared),
      own_(parts_.private_) {
  for (std::size_t t = 0; t < parts_.shared->count(); ++t)
    model_->initialize(t, random_stream(1, purpose::initialize_shared, 0, 0, static_cast<std::uint32_t>(t)),
                       start_.tensor(t));
  weights_.gather(*model_, parts_, start_, own_, data.view(), 0);
  weights_.train_only(parts_.all_tensors);
}

double trainee::step(std::size_t first, std::size_t last) {
  return weights_.step(weights_.data().slice(first, last), how_) / static_cast<double>(last - first);
}

}  // namespace furlong::bench
