#pragma once

#include <SQLiteCpp/Database.h>

namespace assay::store {

// Gives every run the names that variants have since schema 5. A row that no assay wrote stays as
// it is. Throws SQLite::Exception; the caller holds the transaction.
void rename_variants(SQLite::Database& database);

}  // namespace assay::store
