// The least that a program linking libarrow and libarrow_compute costs: what start-up is measured against.
#include <arrow/compute/initialize.h>

int main() { return arrow::compute::Initialize().ok() ? 0 : 1; }
