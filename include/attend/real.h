/* real.h: the number type of tensors.
 *
 * libattend computes in float. Its twin libattend_double has the same functions computing in double; it
 * exists to check derivatives, where float's seven digits are too few. A program that links the twin is
 * compiled with -DATTEND_DOUBLE (pkg-config attend_double has both); nothing else about the headers changes. */
#ifndef ATTEND_REAL_H
#define ATTEND_REAL_H

#ifdef ATTEND_DOUBLE
typedef double attend_real;
/* The doors to everything else have other names, so that the linker refuses headers and library that do not match. */
#define attend_ctx_new    attend_double_ctx_new
#define attend_params_new attend_double_params_new
#define attend_runner_new attend_double_runner_new
#define attend_model_new  attend_double_model_new
#define attend_model_load attend_double_model_load
#else
typedef float attend_real;
#endif

#endif
