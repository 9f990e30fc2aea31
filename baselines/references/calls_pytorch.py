"""`calls` by PyTorch: its `clone` takes a tensor and gives a new one back. It has no call that does the rest."""

import torch

from baselines.benchmarks import calls, in_pytorch

COURSE = calls.Course(calls={"copy": torch.clone}, laid_out=in_pytorch.laid_out)

if __name__ == "__main__":
    in_pytorch.serve(__doc__, calls.run, COURSE)
