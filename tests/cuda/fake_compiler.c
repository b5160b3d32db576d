/* NVRTC for tests in which kernels are not run by a GPU: the machine code of a program is its source. */
#include <stdlib.h>
#include <string.h>

int nvrtcVersion(int* major, int* minor) { *major = 13, *minor = 0; return 0; }
const char* nvrtcGetErrorString(int code) { (void)code; return "made up"; }
int nvrtcCreateProgram(char** program, const char* source, const char* name, int headers, const char* const* texts,
                       const char* const* names) {
  (void)name, (void)headers, (void)texts, (void)names;
  *program = strdup(source);
  return 0;
}
int nvrtcCompileProgram(char* program, int number, const char* const* options) {
  (void)program, (void)number, (void)options;
  return 0;
}
int nvrtcDestroyProgram(char** program) { free(*program); return 0; }
int nvrtcGetCUBINSize(const char* program, size_t* bytes) { *bytes = strlen(program) + 1; return 0; }
int nvrtcGetCUBIN(const char* program, char* code) { strcpy(code, program); return 0; }
int nvrtcGetProgramLogSize(const char* program, size_t* bytes) { (void)program; *bytes = 1; return 0; }
int nvrtcGetProgramLog(const char* program, char* log) { (void)program; *log = 0; return 0; }
