/* standard_streams.h: descriptors 0 to 2. If one of them is closed when the command starts, the next file that is opened
 * would become standard input, output or error: warnings would be written into an output file, and progress into the
 * temporary file of a corpus. */
#ifndef ATTEND_CLI_STANDARD_STREAMS_H
#define ATTEND_CLI_STANDARD_STREAMS_H

/* Opens /dev/null on each closed descriptor, in the direction in which the stream is not used: reading closed standard
 * input and writing closed standard output stay errors (EBADF), as with `cat <&-` and `ls >&-`. Messages to closed
 * standard error are lost, as requested. Returns 0, or an exit code after a message. */
int standard_streams_open(void);

#endif
