// Execute: one unit from candidates to batches of the answer. Decodes the predicate's columns of the rows that are
// possible but not certain, rechecks them, then reads the wanted columns of the matching rows from the same open unit.
#pragma once

#include <memory>

#include "pilum/query/plan.h"

namespace pilum {

// Belongs to one thread; plan, unit and progress must outlive it.
class UnitRead {
 public:
  virtual ~UnitRead() = default;
  // The next batch of the answer, never an empty one; nullptr at the unit's end or once LIMIT is reached.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

std::unique_ptr<UnitRead> MakeUnitRead(const Plan& plan, const Unit& unit, Candidates candidates,
                                       QueryProgress* progress, const ReadContext& ctx);

}  // namespace pilum
