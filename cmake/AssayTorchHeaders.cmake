# For the project's own LibTorch code: one precompiled header, shared by all of it.
#
# LibTorch's headers take some 20 s to read, so they are read once. Everything that shares them
# must be compiled alike: position independent, with assay_sdk's definitions.
add_library(assay_torch_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_headers.cpp")
target_link_libraries(assay_torch_headers PRIVATE assay_sdk assay_options)
target_precompile_headers(assay_torch_headers PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/torch_headers.h>")

# A library or object library of ours that includes LibTorch.
function(assay_use_torch target)
  target_link_libraries(${target} PUBLIC assay_sdk PRIVATE assay_options)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/framework")
  target_precompile_headers(${target} REUSE_FROM assay_torch_headers)
endfunction()
