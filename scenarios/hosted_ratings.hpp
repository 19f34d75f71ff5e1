// Ratings that lie with the clients: every node has those of its own clients, nobody has all.
//
// The scenario says what a server must know: how many users and items there are and how far ratings go. Which part of a
// user's ratings is for training is a function of split_seed, of the user's number and of its own ratings, so nodes
// divide alike without knowing of each other, and a run over all files in one place ends with the same model.
#pragma once

#include "scenarios/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry hosted_ratings_entry();

}  // namespace furlong::scenarios
