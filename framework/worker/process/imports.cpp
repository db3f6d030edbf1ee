#include "worker/process/imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>

namespace assay::worker {

namespace {

// Of a loaded library, what its dynamic section names (System V ABI, chapter 5).
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  std::size_t relocation_bytes = 0;
  const ElfW(Rela) * of_calls = nullptr;
  std::size_t of_calls_bytes = 0;
};

Tables tables_of(const link_map& library) {
  Tables tables;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto* at = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = static_cast<const ElfW(Sym)*>(at);
        break;
      case DT_STRTAB:
        tables.names = static_cast<const char*>(at);
        break;
      case DT_RELA:
        tables.relocations = static_cast<const ElfW(Rela)*>(at);
        break;
      case DT_RELASZ:
        tables.relocation_bytes = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        tables.of_calls = static_cast<const ElfW(Rela)*>(at);
        break;
      case DT_PLTRELSZ:
        tables.of_calls_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

bool refer_to(const Tables& tables, const ElfW(Rela) * relocations, std::size_t bytes,
              std::string_view function) {
  if (relocations == nullptr) return false;
  for (std::size_t i = 0; i < bytes / sizeof *relocations; ++i) {
    const auto symbol = ELF64_R_SYM(relocations[i].r_info);
    if (symbol != 0 && function == tables.names + tables.symbols[symbol].st_name) return true;
  }
  return false;
}

}  // namespace

bool imports(const std::string& file, std::string_view function) {
  void* const handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  link_map* library = nullptr;
  bool found = false;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0) {
    const Tables tables = tables_of(*library);
    if (tables.symbols != nullptr && tables.names != nullptr) {
      found = refer_to(tables, tables.relocations, tables.relocation_bytes, function) ||
              refer_to(tables, tables.of_calls, tables.of_calls_bytes, function);
    }
  }
  ::dlclose(handle);
  return found;
}

}  // namespace assay::worker
