#include "pilum/query/like.h"

#include "pilum/query/find_text.h"
#include "pilum/values/text.h"

namespace pilum {

Result<LikePattern> LikePattern::Compile(std::string_view pattern, std::string_view escape, bool fold) {
  LikePattern p;
  p.fold_ = fold;
  auto add_literal = [&](std::string_view one) {
    for (char c : fold ? FoldCase(one) : std::string(one)) p.steps_.push_back({Step::Kind::kByte, c});
  };
  for (size_t i = 0; i < pattern.size();) {
    size_t size = CodePointSize(pattern, i);
    std::string_view one = pattern.substr(i, size);
    i += size;
    if (!escape.empty() && one == escape) {
      if (i >= pattern.size()) return QueryError("the LIKE pattern ends in its escape character");
      size = CodePointSize(pattern, i);
      add_literal(pattern.substr(i, size));
      i += size;
    } else if (one == "%") {
      if (p.steps_.empty() || p.steps_.back().kind != Step::Kind::kRun) p.steps_.push_back({Step::Kind::kRun});
    } else if (one == "_") {
      p.steps_.push_back({Step::Kind::kOne});
    } else {
      add_literal(one);
    }
  }
  size_t from = 0, to = p.steps_.size();
  const bool leads = to > 0 && p.steps_[0].kind == Step::Kind::kRun;
  const bool trails = to > 0 && p.steps_[to - 1].kind == Step::Kind::kRun;
  from += leads;
  if (trails && to > from) --to;
  for (size_t i = from; i < to; ++i) {
    if (p.steps_[i].kind != Step::Kind::kByte) return p;
    p.literal_.push_back(p.steps_[i].byte);
  }
  p.shape_ = leads && trails ? Shape::kContains : leads ? Shape::kSuffix : trails ? Shape::kPrefix : Shape::kEqual;
  return p;
}

bool LikePattern::Matches(std::string_view text) const {
  std::string folded;
  if (fold_) {
    folded = FoldCase(text);
    text = folded;
  }
  switch (shape_) {
    case Shape::kEqual: return text == literal_;
    case Shape::kPrefix: return text.starts_with(literal_);
    case Shape::kSuffix: return text.ends_with(literal_);
    case Shape::kContains: return FindText(text, literal_) != std::string_view::npos;
    case Shape::kGeneral: return MatchSteps(text);
  }
  return false;
}

// Greedy, going back only to the last %: linear in most cases, never exponential.
bool LikePattern::MatchSteps(std::string_view text) const {
  constexpr size_t kNone = ~size_t{0};
  size_t t = 0, s = 0, run = kNone, run_text = 0;
  while (t < text.size()) {
    if (s < steps_.size() && steps_[s].kind == Step::Kind::kRun) {
      run = s++;
      run_text = t;
    } else if (s < steps_.size() && steps_[s].kind == Step::Kind::kOne) {
      t += CodePointSize(text, t);
      ++s;
    } else if (s < steps_.size() && steps_[s].byte == text[t]) {
      ++t;
      ++s;
    } else if (run != kNone) {
      run_text += CodePointSize(text, run_text);
      t = run_text;
      s = run + 1;
    } else {
      return false;
    }
  }
  while (s < steps_.size() && steps_[s].kind == Step::Kind::kRun) ++s;
  return s == steps_.size();
}

ValueSet LikePattern::Implied(bool* exact) const {
  *exact = shape_ == Shape::kEqual || shape_ == Shape::kPrefix || (shape_ == Shape::kContains && literal_.empty());
  if (shape_ == Shape::kEqual) return ValueSet::Point(Value::Text(literal_));
  std::string prefix;
  for (const auto& s : steps_) {
    if (s.kind != Step::Kind::kByte) break;
    prefix.push_back(s.byte);
  }
  return PrefixSet(prefix);
}

std::vector<std::string> LikePattern::Needles() const {
  std::vector<std::string> out(1);
  for (const auto& s : steps_) {
    if (s.kind == Step::Kind::kByte)
      out.back().push_back(s.byte);
    else if (!out.back().empty())
      out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

ValueSet PrefixSet(const std::string& prefix) {
  std::string next = prefix;
  while (!next.empty() && static_cast<uint8_t>(next.back()) == 0xFF) next.pop_back();
  Interval i;
  if (!prefix.empty()) i.lower = Bound{Value::Text(prefix), true};
  if (!next.empty()) {
    next.back() = static_cast<char>(static_cast<uint8_t>(next.back()) + 1);
    i.upper = Bound{Value::Text(next), false};
  }
  return ValueSet::Of(std::move(i));
}

}  // namespace pilum
