"""A trainer whose replies of one kind are wrong: WRONG in the environment is the kind and the body in hex, or for the
open reply JSON of what its algorithm says otherwise; null: there is none."""
import json
import os

from furlong import trainer
from furlong.messages import OPEN, message, to_json

KIND, BODY = os.environ["WRONG"].split(" ", 1)
right = trainer.Trainer._answer


def wrong(self, kind, end):
    reply = right(self, kind, end)
    if kind != int(KIND):
        return reply
    if kind != OPEN:
        return message(kind, bytes.fromhex(BODY))
    said = json.loads(reply[8:])
    if json.loads(BODY) is None:
        del said["algorithm"]
    else:
        said["algorithm"] |= json.loads(BODY)
    return message(kind, to_json(said))


trainer.Trainer._answer = wrong
trainer.main()
