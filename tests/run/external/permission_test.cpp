#include "run/external/permission.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace assay::run {
namespace {

namespace fs = std::filesystem;

class Permission : public ::testing::Test {
 protected:
  Permission() {
    std::string pattern = (fs::temp_directory_path() / "assay-permission-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const char* file : {"mine/a.yaml", "mine/deeper/b.yaml", "others/c.yaml"}) {
      fs::create_directories((root_ / file).parent_path());
      std::ofstream(root_ / file) << "kind: norm\n";
    }
    mine_ = (root_ / "mine").string();
  }
  ~Permission() override { fs::remove_all(root_); }

  bool trusted(const char* file, const std::string& folders) const {
    return is_trusted(root_ / file, folders);
  }

  fs::path root_;
  std::string mine_;
};

TEST_F(Permission, CoversAFolderAndWhatIsBelowIt) {
  EXPECT_TRUE(trusted("mine/a.yaml", mine_));
  EXPECT_TRUE(trusted("mine/deeper/b.yaml", mine_ + "/"));
  EXPECT_TRUE(trusted("mine/a.yaml", "/nowhere:" + mine_));
  EXPECT_FALSE(trusted("others/c.yaml", mine_));
}

TEST_F(Permission, NothingIsTrustedUnlessItIsNamed) {
  EXPECT_FALSE(trusted("mine/a.yaml", ""));
  EXPECT_FALSE(trusted("mine/a.yaml", ":"));
  EXPECT_FALSE(trusted("mine/a.yaml", "mine"));
  EXPECT_FALSE(trusted("mine/a.yaml", "."));
  EXPECT_FALSE(trusted("mine/absent.yaml", mine_));
  EXPECT_FALSE(trusted("mine/a.yaml", mine_.substr(0, mine_.size() - 1)));
}

TEST_F(Permission, FollowsLinksAndDots) {
  fs::create_symlink(root_ / "others" / "c.yaml", root_ / "mine" / "link.yaml");
  EXPECT_FALSE(trusted("mine/link.yaml", mine_)) << "what it leads to lies elsewhere";
  EXPECT_FALSE(trusted("mine/../others/c.yaml", mine_));
  fs::create_directory_symlink(root_ / "mine", root_ / "way");
  EXPECT_TRUE(trusted("mine/a.yaml", (root_ / "way").string()));
}

}  // namespace
}  // namespace assay::run
