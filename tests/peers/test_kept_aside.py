"""Copies beside a timed call. Needs PyTorch; without a GPU they are the host's alone."""

import unittest

from test_assay_peer import torch

from assay_peer.kept_aside import KeptAside


def lent(kept, device):
    seen = {}
    kept.lend(device, lambda copies: seen.update((name, x.sum().item())
                                                 for name, x in copies.items()))
    return seen


class Kept(unittest.TestCase):
    def test_are_what_the_tensors_were(self):
        for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
            device = torch.device(device)
            tensors = {"a": torch.full((3, 5), 2.0, device=device),
                       "b": torch.ones(7, device=device)}
            kept = KeptAside(tensors, device)
            for tensor in tensors.values():
                tensor.zero_()
            self.assertEqual(lent(kept, device), {"a": 30, "b": 7})

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_leave_the_allocator_as_it_was(self):
        device = torch.device("cuda")
        tensors = {str(i): torch.ones(1 << 20, i + 1, device=device) for i in range(8)}
        cached = torch.empty(1 << 28, device=device), tensors["7"].sum().item()
        del cached
        before = torch.cuda.memory_reserved()
        for _ in range(3):
            kept = KeptAside(tensors, device)
            beside = torch.cuda.memory_reserved()
            self.assertGreater(beside, before)
            call = torch.empty(1 << 28, device=device)  # of the free block
            self.assertEqual(torch.cuda.memory_reserved(), beside)
            del call
            self.assertEqual(lent(kept, device)["7"], 8 << 20)
            self.assertEqual(torch.cuda.memory_reserved(), before)


if __name__ == "__main__":
    unittest.main()
