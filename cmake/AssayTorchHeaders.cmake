# One precompiled header for the project's LibTorch code, because LibTorch's headers take 20 s to
# read. All its users must be compiled alike: position independent, with assay_sdk's definitions.
add_library(assay_torch_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_headers.cpp")
target_link_libraries(assay_torch_headers PRIVATE assay_sdk assay_options)
target_precompile_headers(assay_torch_headers PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/torch_headers.h>")

# For a library or object library of the project that includes LibTorch.
function(assay_use_torch target)
  target_link_libraries(${target} PUBLIC assay_sdk PRIVATE assay_options)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/framework")
  target_precompile_headers(${target} REUSE_FROM assay_torch_headers)
endfunction()
