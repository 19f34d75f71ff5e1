// MovieLens (Harper, Konstan: "The MovieLens datasets: history and context", ACM TiiS 2015): one client per user.
// Client ids count the users by ascending id, feature ids the rated films by ascending id.
#pragma once

#include "scenarios/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry movielens_entry();

}  // namespace furlong::scenarios
