/* attend.h: all public headers of libattend. (attend/picture.h belongs to libattend-view.) */
#ifndef ATTEND_ATTEND_H
#define ATTEND_ATTEND_H

#include <attend/activation.h>
#include <attend/attention.h>
#include <attend/cache.h>
#include <attend/check.h>
#include <attend/config.h>
#include <attend/data_check.h>
#include <attend/file.h>
#include <attend/grid.h>
#include <attend/json.h>
#include <attend/lines.h>
#include <attend/map_selection.h>
#include <attend/metric.h>
#include <attend/model.h>
#include <attend/op.h>
#include <attend/pairs_file.h>
#include <attend/parse.h>
#include <attend/plot.h>
#include <attend/precision.h>
#include <attend/print.h>
#include <attend/processors.h>
#include <attend/random.h>
#include <attend/real.h>
#include <attend/score.h>
#include <attend/scorer.h>
#include <attend/search.h>
#include <attend/shortlist.h>
#include <attend/status.h>
#include <attend/string.h>
#include <attend/string_table.h>
#include <attend/tape.h>
#include <attend/terminal.h>
#include <attend/text.h>
#include <attend/train.h>
#include <attend/trainer.h>
#include <attend/translator.h>
#include <attend/utf8.h>
#include <attend/version.h>
#include <attend/view.h>
#include <attend/words.h>

#endif
