/* cuda_plugin.h: loads the CUDA plug-in (cuda/plugin.h). */
#ifndef ATTEND_DEVICE_CUDA_PLUGIN_LOADER_H
#define ATTEND_DEVICE_CUDA_PLUGIN_LOADER_H

#include "device/cuda/plugin.h"
#include "device/device.h"

/* Loads the plug-in and opens GPU `number`; NULL after a message. A process opens one GPU: later calls with the same number
 * return it again. */
const attend_device *attend_cuda_open(int number, cuda_description *description);

#endif
