#error "a build without CUDA lacks this header: include it where ASSAY_WITH_CUDA is 1"
