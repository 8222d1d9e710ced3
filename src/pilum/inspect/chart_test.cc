#include "pilum/inspect/chart.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

TEST(HtmlText, NothingOfItIsMarkup) {
  EXPECT_EQ(HtmlText("<script>alert(\"x\")</script>&'"), "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;");
  EXPECT_EQ(HtmlText("größe"), "größe");
  EXPECT_EQ(HtmlText("a\xff"
                     "b\n\x01"),
            "a?b??");
}

TEST(Chart, HoldsWhateverItIsGiven) {
  const auto label = [](double y) { return std::to_string(static_cast<int>(y)); };
  EXPECT_NE(Chart("none", 0, 0, 100, label).Finish().find("<svg"), std::string::npos);
  Chart one("one <b>", 1, 5, 100, label);
  one.AddArea("a", {}, {5});
  one.AddXLabel(0, "<x>");
  one.AddHover(0, "<y>");
  const std::string text = one.Finish();
  EXPECT_EQ(text.find("<x>"), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  EXPECT_EQ(text.find("<y>"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  Chart many("many", 100000, 1e12, 100, label);
  std::vector<double> values(100000, 1.0);
  values[77777] = 1e12;
  many.AddArea("a", {}, values);
  for (size_t i = 0; i < values.size(); ++i) many.AddHover(i, "h");
  EXPECT_LT(many.Finish().size(), 200000u);
  EXPECT_NE(many.Finish().find("V10.0H"), std::string::npos) << "the peak is lost";
}

}  // namespace
}  // namespace pilum
