/* reader_support.h: helpers for the tests of the ONNX reader. */
#ifndef CONFORMANCE_READER_SUPPORT_H
#define CONFORMANCE_READER_SUPPORT_H

#include "encode.h"
#include "message.h"
#include "onnx.h"

extern char message[MESSAGE_SIZE]; /* of the last attempt */

/* Reads from an allocation of the exact size, so that a sanitizer detects an overrun. Asserts that the result is well
 * formed, or that the error names the file and the byte. Returns the status. */
int try_model(const uint8_t *bytes, size_t size);
int try_tensor(const uint8_t *bytes, size_t size);

/* The same; asserts the status, and that the message contains `words`. */
void expect_model(const encoder *e, int status, const char *words);
void expect_tensor(const encoder *e, int status, const char *words);

/* A valid model with an attribute of each kind; its node has inputs "W", none, "X" and outputs none, "Y". */
extern const char *const sample_inputs[], *const sample_outputs[];
encoder sample_model(void);
/* A valid tensor: FLOAT (2, 1, 3) in raw_data, or INT32 (2, 2) in int32_data, partly packed. */
encoder sample_tensor(bool raw);

#endif
