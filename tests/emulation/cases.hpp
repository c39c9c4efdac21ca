// What the emulated kernels are tested on. The kernels that these cases need are what is compiled for the emulation.
#pragma once

#include <vector>

#include "tests/support/operation_case.hpp"

namespace cakejit::emulation {

using test::OperationCase;

// Every combination of types and options; each element width, packet width, and with or without bias and SiLU.
std::vector<OperationCase> option_cases();

// Token counts around each strip's and group's end, with random documents, options and alignments.
std::vector<OperationCase> token_cases(std::uint64_t seed);

// Channel counts around each edge of a packet, a warp and a block.
std::vector<OperationCase> channel_cases();

// Documents that begin and end at each distance from a strip's edge, and more documents than a warp looks through at
// once.
std::vector<OperationCase> document_cases();

// The faults known from elsewhere, as far as they are small.
std::vector<OperationCase> known_faults();

// One for each way through the kernels, for contents of cu_seqlens that are wrong.
std::vector<OperationCase> wrong_offset_cases();

std::vector<OperationCase> all_cases();

}  // namespace cakejit::emulation
