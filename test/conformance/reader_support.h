/* reader_support.h: what the tests of the ONNX reader have in common. */
#ifndef CONFORMANCE_READER_SUPPORT_H
#define CONFORMANCE_READER_SUPPORT_H

#include "encode.h"
#include "message.h"
#include "onnx.h"

extern char message[MESSAGE_SIZE]; /* of the last attempt */

/* Reads from an allocation of the exact size, so that a sanitizer sees the first byte beyond; what comes out must be
 * well formed all through, and a refusal must name the file and the byte. Returns the status. */
int try_model(const uint8_t *bytes, size_t size);
int try_tensor(const uint8_t *bytes, size_t size);

/* The same; the status must be this and the message must have these words. */
void expect_model(const encoder *e, int status, const char *words);
void expect_tensor(const encoder *e, int status, const char *words);

/* A sound model with an attribute of each kind, whose node takes "W", none, "X" and makes none, "Y". */
extern const char *const sample_inputs[], *const sample_outputs[];
encoder sample_model(void);
/* A sound tensor: FLOAT (2, 1, 3) in raw_data, or INT32 (2, 2) in int32_data, packed in part. */
encoder sample_tensor(bool raw);

#endif
