"""FedAlt: FedRep with a learning rate for the private tensors (federated/algorithms/fedalt.cpp)."""
import fedrep

SCENARIOS = {
    "plain": {},
    "own rate, linear schedule": {"algorithm.fedalt.private_epochs": 3, "algorithm.fedalt.private_lr": 0.2,
                                  "algorithm.client.schedule": "linear"},
    "frozen": {"algorithm.fedalt.private_epochs": 0},
    "few steps, cold start": {"algorithm.fedalt.private_epochs": 2, "algorithm.client.max_steps": 3,
                              "private.cold_start": "reconstruct"},
}


def run(world):
    return fedrep.run(world, "algorithm.fedalt.private_epochs", "algorithm.fedalt.private_lr", epochs=1)
