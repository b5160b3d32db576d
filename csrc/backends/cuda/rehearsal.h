// Running operators without a GPU, to learn which programs they would ask for.
//
// Note [Rehearsals]
// `mindtorch cuda warm` compiles kernels before they are needed. Which they are, and their texts, only the operators know, so
// they are asked: a process of its own runs them over a driver that does nothing (memory is the host's, launches are
// ignored, libraries are refused), and load_program() writes down what it is asked for instead of compiling it.
#pragma once

#include <string>
#include <vector>

namespace mt::cuda {

// From now on this process has one device of that architecture ("sm_90") that does nothing. Before anything of CUDA is used.
void rehearse(const std::string& architecture);
bool rehearsing() noexcept;
void note_program(const std::string& source);
std::vector<std::string> rehearsed_programs();  // each once, in the order in which they were asked for

}  // namespace mt::cuda
