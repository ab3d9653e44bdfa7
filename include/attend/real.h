/* real.h: the number type of tensors.
 *
 * libattend computes in float. libattend_double has the same functions and computes in double; it exists to check
 * derivatives, for which the seven digits of float are too few. A program that links libattend_double is compiled with
 * -DATTEND_DOUBLE (pkg-config attend_double provides both flags). */
#ifndef ATTEND_REAL_H
#define ATTEND_REAL_H

#ifdef ATTEND_DOUBLE
typedef double attend_real;
/* The functions that every program calls first have other names, so that the linker rejects headers that do not match
 * the library. */
#define attend_ctx_new    attend_double_ctx_new
#define attend_params_new attend_double_params_new
#define attend_runner_new attend_double_runner_new
#define attend_model_new  attend_double_model_new
#define attend_model_load attend_double_model_load
#else
typedef float attend_real;
#endif

#endif
