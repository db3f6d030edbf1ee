"""RMSNorm of the package quack-kernels."""

from assay_peer import Norm, packages, serve


class QuackRmsNorm(Norm):
    def __init__(self, case):
        packages.require_gpu(case.device, "quack-kernels", 9, 10, 11, 12)
        super().__init__(case)
        self.norm = packages.imported("quack", "quack-kernels").rmsnorm

    def forward(self, x, weight):
        return self.norm(x, weight, eps=self.eps)

    def add_forward(self, residual, x, weight):
        out, total = self.norm(x, weight, residual=residual, eps=self.eps, prenorm=True)
        return total, out


if __name__ == "__main__":
    serve(QuackRmsNorm)
