# The headers for a model, algorithm, aggregation rule, selection policy or dataset of another project, and the headers
# that they include. No others are installed.
set(FURLONG_PUBLIC_HEADERS
  base/box.hpp base/digest.hpp base/exact_math.hpp base/function_ref.hpp base/large_memory.hpp base/options.hpp base/random.hpp base/result.hpp base/secret_stream.hpp
  models/class_model.hpp models/delta.hpp models/examples.hpp models/feature_model.hpp models/layout.hpp models/local_step.hpp models/logistic.hpp models/model.hpp models/parameters.hpp
  models/tensor_view.hpp models/training_loop.hpp models/working_set.hpp
  federated/aggregation/aggregate.hpp federated/aggregation/fixed_point.hpp federated/aggregation/rule.hpp federated/aggregation/rule_traits.hpp
  federated/algorithm.hpp federated/algorithm_traits.hpp federated/client/local_task.hpp
  federated/client/local_training.hpp federated/client/local_values.hpp federated/client/negatives.hpp
  federated/client/personalization.hpp
  federated/client/workspace.hpp
  federated/privacy/adversary.hpp
  federated/experiment.hpp federated/participation/draws.hpp
  federated/participation/ledger.hpp federated/participation/policy.hpp
  federated/participation/policy_traits.hpp federated/population.hpp federated/server_view.hpp federated/settings.hpp
  federated/settings/aggregation.hpp federated/settings/devices.hpp federated/settings/evaluation.hpp federated/settings/participation.hpp
  federated/settings/private_values.hpp federated/settings/training.hpp
  federated/simulation/availability.hpp federated/tensor_groups.hpp federated/update.hpp federated/update_size.hpp
  federated/virtual_time.hpp
  scenarios/data/dataset.hpp
  tools/cli/main.hpp)
foreach(header IN LISTS FURLONG_PUBLIC_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/furlong/${folder}")
endforeach()
