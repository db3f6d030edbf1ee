// fmt 9 as a static library, which distributions lack; header-only fmt costs each file five seconds
// of compilation. Builds with another version are header-only.
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template locale_ref::locale_ref(const std::locale& locale);
template std::locale locale_ref::get<std::locale>() const;
template auto decimal_point_impl<char>(locale_ref) -> char;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
#endif
