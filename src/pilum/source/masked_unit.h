// Some rows of a unit as a unit: what counts of a part whose batch other parts hold too; what a fragment has besides its
// deleted rows. Used by part and table.
#pragma once

#include <memory>

#include "pilum/source/snapshot.h"

namespace pilum {

// `rows`: of `unit`, renumbered from 0 in order.
std::shared_ptr<const Unit> MakeMaskedUnit(std::shared_ptr<const Unit> unit, RowSet rows);

}  // namespace pilum
