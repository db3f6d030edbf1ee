"""Parts of a training step that other packages fuse: a head with its loss, an AdamW."""

from assay_peer import Unsupported, packages

import torch


class LigerHeadLoss:
    """liger-kernel's head and cross-entropy in one. It keeps no logits: its forward computes the
    gradients too, of some tokens at a time. It waits for the device and is not compiled."""

    def __init__(self, case):
        if case.get("precision") == "fp16":
            raise Unsupported("liger-kernel computes the head's gradients ahead of the loss scale, "
                              "too small for fp16")
        packages.require_gpu(case.device, "liger-kernel")
        losses = packages.imported("liger_kernel.transformers.fused_linear_cross_entropy",
                                   "liger-kernel")
        loss = losses.LigerFusedLinearCrossEntropyLoss(accum_dtype=torch.float32)
        self.fused = torch.compiler.disable(loss.forward)

    def __call__(self, hidden, weight, targets, dtype=None):
        """dtype: of the products; autocast would cast the weight again for each part."""
        return self.fused(weight.to(dtype or weight.dtype),
                          hidden.flatten(0, 1).to(dtype or hidden.dtype), targets.flatten())


# transformer-engine is looked for first.
ADAM = {"transformer-engine": "transformer_engine.pytorch.optimizers", "apex": "apex.optimizers"}


def fused_adamw(case):
    """Makes the FusedAdam of a package in its AdamW mode, with PyTorch's defaults."""
    reasons = []
    for package, module in ADAM.items():
        packages.require_gpu(case.device, package)
        try:
            fused = packages.imported(module, package).FusedAdam
        except Unsupported as problem:
            reasons.append(str(problem))
            continue
        return lambda parameters, lr: fused(parameters, lr=lr, adam_w_mode=True, weight_decay=1e-2)
    raise Unsupported("; or else ".join(reasons))
