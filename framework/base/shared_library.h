#pragma once

// Boost.DLL over std::filesystem: Boost.Filesystem's static library is not position independent
// everywhere, and the worker is a shared library.
#ifndef BOOST_DLL_USE_STD_FS
#define BOOST_DLL_USE_STD_FS
#endif
#include <boost/dll/shared_library.hpp>
