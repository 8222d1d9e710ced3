// Rows of a fragment in the form in which reads give them (column_forms.h), over a unit that gives them as files hold them.
// Called by snapshot.cc.
#pragma once

#include <memory>

#include "pilum/source/snapshot.h"
#include "pilum/table/fragment.h"

namespace pilum {

// `stored`: of `fragment`, which belongs to table.manifest. Blobs whose bytes are wanted come in batches of no more than the
// limits allow, but for one.
std::shared_ptr<const Unit> MakeGivenUnit(TableContext table, const Fragment& fragment,
                                          std::shared_ptr<const Unit> stored);

}  // namespace pilum
