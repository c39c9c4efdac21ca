// SIGINT and SIGTERM as a wish to stop between builds. A second one ends the process at once; what it was building is
// then left in no cache, because entries are published whole.
#pragma once

namespace cakejit::tools::aot {

void catch_interrupts();

// 0, or the signal that came.
int interrupted();

}  // namespace cakejit::tools::aot
