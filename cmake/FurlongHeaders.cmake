# The headers for a model, algorithm, aggregation rule, selection policy or dataset of another project, and the headers
# that they include. No others are installed.
set(FURLONG_PUBLIC_HEADERS
  base/box.hpp base/digest.hpp base/exact_math.hpp base/function_ref.hpp base/large_memory.hpp base/options.hpp base/random.hpp base/result.hpp base/secret_stream.hpp
  models/class_model.hpp models/delta.hpp models/examples.hpp models/feature_model.hpp models/layout.hpp models/local_step.hpp models/logistic.hpp models/model.hpp models/parameters.hpp
  models/tensor_view.hpp models/training_loop.hpp models/working_set.hpp
  federated/aggregation/aggregate.hpp federated/aggregation/fixed_point.hpp federated/aggregation/rule.hpp federated/settings/rule_traits.hpp
  federated/experiment/algorithm.hpp federated/settings/algorithm_traits.hpp federated/client/local_task.hpp
  federated/client/local_training.hpp federated/client/local_values.hpp federated/experiment/negatives.hpp
  federated/client/personalization.hpp
  federated/client/workspace.hpp
  federated/settings/adversary.hpp
  federated/experiment/experiment.hpp federated/participation/draws.hpp
  federated/state/ledger.hpp federated/participation/policy.hpp
  federated/settings/policy_traits.hpp federated/experiment/population.hpp federated/aggregation/server_view.hpp federated/settings/settings.hpp
  federated/settings/aggregation.hpp federated/settings/devices.hpp federated/settings/evaluation.hpp federated/settings/participation.hpp
  federated/settings/private_values.hpp federated/settings/training.hpp
  federated/world/availability.hpp federated/experiment/tensor_groups.hpp federated/experiment/update.hpp federated/settings/update_size.hpp
  federated/settings/virtual_time.hpp
  scenarios/data/dataset.hpp
  tools/cli/main.hpp)
foreach(header IN LISTS FURLONG_PUBLIC_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/furlong/${folder}")
endforeach()
