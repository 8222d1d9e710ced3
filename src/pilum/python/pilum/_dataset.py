"""``lance._dataset``'s name for what is in :mod:`pilum.sampler`."""

import sys

from . import sampler as sharded_batch_iterator

sys.modules[__name__ + ".sharded_batch_iterator"] = sharded_batch_iterator

__all__ = ["sharded_batch_iterator"]
