"""Runs on an emulated node: calls every nvmlDevice* function of pynvml on a GPU and on a MIG device, and looks at what the
getters say together. Prints one JSON line; whatever is wrong is in its "wrong".

usage: walk.py FOLDER_OF_PYNVML [HELD]   HELD: the GPU that this process holds with 2 GiB, and then only that is looked at
"""
import ctypes
import inspect
import json
import os
import sys

sys.path.insert(0, sys.argv[1])
import pynvml as n  # noqa: E402

# What a working driver may answer; UNKNOWN, FUNCTION_NOT_FOUND and the like it may not.
ANSWERS = {n.NVML_ERROR_NOT_SUPPORTED, n.NVML_ERROR_INVALID_ARGUMENT, n.NVML_ERROR_NOT_FOUND, n.NVML_ERROR_NO_PERMISSION,
           n.NVML_ERROR_INSUFFICIENT_SIZE, n.NVML_ERROR_IN_USE, n.NVML_ERROR_INSUFFICIENT_RESOURCES,
           n.NVML_ERROR_ARGUMENT_VERSION_MISMATCH, n.NVML_ERROR_TIMEOUT, n.NVML_ERROR_NO_DATA}
LATER = {"nvmlDeviceSetMigMode", "nvmlDeviceRemoveGpu_v2", "nvmlDeviceRemoveGpu"}  # change the node under the walk
NUMBERS = {"cpuSetSize": 4, "nodeSetSize": 4, "version": 2, "powerLimit": 300000, "limit": 300000, "fieldIds": [1, 83, 184],
           "pid": os.getpid(), "uuid": "GPU-x", "serial": "0", "pciBusId": "0000:00:00.0", "mode": 0, "profileId": 19}


class Walk:
    def __init__(self):
        self.wrong, self.answered, self.refused, self.unfit = [], set(), set(), set()

    def expect(self, good: bool, what: str):
        if not good:
            self.wrong.append(what)

    def argument(self, name: str, handle):
        if name in ("handle", "device", "handle1", "handle2", "device1", "device2", "migDevice"):
            return handle
        if name == "eventSet":
            return n.nvmlEventSetCreate()
        if name in NUMBERS:
            return NUMBERS[name]
        if name.startswith(("c_", "info")) or name in ("status", "caps", "counts", "samples", "limits", "settings", "getBwMode",
                                                       "supportedBwModes", "gpuFabricInfo", "platformInfo", "control"):
            return (ctypes.c_ubyte * 262144)()
        return 0

    def call(self, name: str, handle):
        function = getattr(n, name)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        try:
            function(*[self.argument(p.name, handle) for p in parameters])
            self.answered.add(name)
        except n.NVMLError as error:
            self.refused.add(name)
            self.expect(error.value in ANSWERS, f"{name}: answered {error}")
        except (TypeError, AttributeError, ctypes.ArgumentError, ValueError):
            self.unfit.add(name)  # wants a struct that this walk does not make

    def walk(self, handle):
        for name, function in inspect.getmembers(n, inspect.isfunction):
            if name.startswith("nvmlDevice") and name not in LATER:
                self.call(name, handle)


def maybe(function, *arguments):
    """What it says, or None where the device has no such thing."""
    try:
        return function(*arguments)
    except n.NVMLError as error:
        if error.value in (n.NVML_ERROR_NOT_SUPPORTED, n.NVML_ERROR_NOT_FOUND):
            return None
        raise


def look_at_gpu(walk: Walk, index: int, gpu):
    at = f"GPU {index}: "
    expect = lambda good, what: walk.expect(good, at + what)
    expect(n.nvmlDeviceGetIndex(gpu) == index, "its index is not the one it was found by")
    expect(n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(gpu))) == n.nvmlDeviceGetUUID(gpu), "UUID")
    pci = n.nvmlDeviceGetPciInfo(gpu)
    expect(n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(pci.busId)) == index, "PCI bus id leads elsewhere")
    expect(n.nvmlDeviceGetName(gpu).startswith("NVIDIA "), "name")
    expect(8 <= n.nvmlDeviceGetCudaComputeCapability(gpu)[0] <= 12, "compute capability")
    power, limits = n.nvmlDeviceGetPowerUsage(gpu), n.nvmlDeviceGetPowerManagementLimitConstraints(gpu)
    limit = n.nvmlDeviceGetPowerManagementLimit(gpu)
    expect(0 < power <= limit, f"power {power} of {limit} mW")
    expect(limits[0] <= limit <= limits[1], f"power limit {limit} not in {limits}")
    expect(n.nvmlDeviceGetTotalEnergyConsumption(gpu) >= 0, "energy")
    warm = n.nvmlDeviceGetTemperature(gpu, n.NVML_TEMPERATURE_GPU)
    expect(20 <= warm < n.nvmlDeviceGetTemperatureThreshold(gpu, n.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN), f"{warm} degrees")
    for clock in (n.NVML_CLOCK_GRAPHICS, n.NVML_CLOCK_SM, n.NVML_CLOCK_MEM, n.NVML_CLOCK_VIDEO):
        now, most = n.nvmlDeviceGetClockInfo(gpu, clock), n.nvmlDeviceGetMaxClockInfo(gpu, clock)
        expect(0 < now <= most <= 20000, f"clock {clock}: {now} of {most} MHz")
    expect(n.nvmlDeviceGetSupportedMemoryClocks(gpu) != [], "no memory clock")
    expect(1 <= n.nvmlDeviceGetCurrPcieLinkGeneration(gpu) <= n.nvmlDeviceGetMaxPcieLinkGeneration(gpu) <= 6, "PCIe link")
    expect(n.nvmlDeviceGetNumFans(gpu) == 0, "fans")
    memory = maybe(n.nvmlDeviceGetMemoryInfo, gpu)
    if memory:
        expect(memory.used + memory.free == memory.total > 1 << 30, "memory does not add up")
        second = n.nvmlDeviceGetMemoryInfo(gpu, version=n.nvmlMemory_v2)
        expect(second.used + second.free + second.reserved == second.total == memory.total, "memory v2 does not add up")
    utilization = maybe(n.nvmlDeviceGetUtilizationRates, gpu)
    if utilization:
        expect(utilization.gpu <= 100 and utilization.memory <= 100, "utilisation over 100 %")
    mig = maybe(n.nvmlDeviceGetMigMode, gpu)
    expect((utilization is None) == bool(mig and mig[0]), "utilisation is told just where MIG mode is off")
    expect(maybe(n.nvmlDeviceGetEccMode, gpu) in (None, [1, 1], (1, 1)), "ECC")
    links = [link for link in range(18) if maybe(n.nvmlDeviceGetNvLinkState, gpu, link) == 1]
    field = n.nvmlDeviceGetFieldValues(gpu, [n.NVML_FI_DEV_NVLINK_LINK_COUNT])[0]
    expect(len(links) == (field.value.uiVal if field.nvmlReturn == 0 else 0), "NVLink count differs from its field value")
    samples = maybe(n.nvmlDeviceGetSamples, gpu, n.NVML_TOTAL_POWER_SAMPLES, 0)
    expect(samples is not None and samples[1][0].sampleValue.uiVal <= limit, "power samples")
    expect(n.nvmlDeviceGetComputeRunningProcesses(gpu) == [], "processes on an idle GPU")
    return mig


def look_at_mig(walk: Walk, index: int, gpu):
    """Cuts a MIG device, looks at it, gives it back."""
    profile = next(p for p in (maybe(n.nvmlDeviceGetGpuInstanceProfileInfo, gpu, i) for i in range(18)) if p)
    gi = n.nvmlDeviceCreateGpuInstance(gpu, profile.id)
    compute = next(i for i in range(9) if maybe(n.nvmlGpuInstanceGetComputeInstanceProfileInfo, gi, i, 0))
    ci = n.nvmlGpuInstanceCreateComputeInstance(gi, compute)
    device = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    at = f"MIG device of GPU {index}: "
    walk.expect(getattr(is_mig := n.nvmlDeviceIsMigDeviceHandle(device), "value", is_mig) == 1, at + "is none")
    walk.expect(n.nvmlDeviceGetUUID(device).startswith("MIG-"), at + "UUID")
    attributes = n.nvmlDeviceGetAttributes(device)
    walk.expect(attributes.memorySizeMB == profile.memorySizeMB, at + "memory differs from its profile")
    memory = n.nvmlDeviceGetMemoryInfo(device)
    walk.expect(memory.used == 0 < memory.total < n.nvmlDeviceGetMemoryInfo(gpu).total or profile.sliceCount > 3, at + "memory")
    for function in (n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetPciInfo, n.nvmlDeviceGetSerial, n.nvmlDeviceGetUtilizationRates):
        walk.expect(maybe(function, device) is None, at + f"{function.__name__} answers")
    walk.walk(device)
    n.nvmlComputeInstanceDestroy(ci)
    n.nvmlGpuInstanceDestroy(gi)


def look_at_held(walk: Walk, index: int):
    gpu = n.nvmlDeviceGetHandleByIndex(index)
    own = [p for p in n.nvmlDeviceGetComputeRunningProcesses(gpu) if p.pid == os.getpid()]
    walk.expect(len(own) == 1 and own[0].usedGpuMemory == 2 << 30, "this process is not in the list with its memory")
    walk.expect(n.nvmlDeviceGetMemoryInfo(gpu).used == 2 << 30, "memory in use is not what is held")
    walk.expect(n.nvmlDeviceGetCurrentClocksEventReasons(gpu) & n.nvmlClocksEventReasonGpuIdle == 0, "called idle")
    idle = n.nvmlDeviceGetHandleByIndex(index + 1)
    walk.expect(n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_SM) > n.nvmlDeviceGetClockInfo(idle, n.NVML_CLOCK_SM), "clocks")
    walk.expect(n.nvmlDeviceGetComputeRunningProcesses(idle) == [], "a neighbour has its process")


def main() -> int:
    n.nvmlInit()
    walk = Walk()
    if len(sys.argv) > 2:
        look_at_held(walk, int(sys.argv[2]))
        print(json.dumps({"wrong": walk.wrong}))
        return 1 if walk.wrong else 0
    count = n.nvmlDeviceGetCount()
    for index in range(count):
        gpu = n.nvmlDeviceGetHandleByIndex(index)
        mig = look_at_gpu(walk, index, gpu)
        if mig and mig[0]:
            look_at_mig(walk, index, gpu)
    if maybe(n.nvmlDeviceGetMigMode, n.nvmlDeviceGetHandleByIndex(0)) is not None and count > 0:
        first = n.nvmlDeviceGetHandleByIndex(0)
        n.nvmlDeviceSetMigMode(first, 1)
        if n.nvmlDeviceGetMigMode(first)[0]:
            look_at_mig(walk, 0, first)
            n.nvmlDeviceSetMigMode(first, 0)
    for index in {0, count - 1}:
        walk.walk(n.nvmlDeviceGetHandleByIndex(index))
    n.nvmlShutdown()
    unfit = walk.unfit - walk.answered - walk.refused
    print(json.dumps({"gpus": count, "answered": len(walk.answered), "refused": len(walk.refused - walk.answered),
                      "unfit": sorted(unfit), "wrong": walk.wrong}))
    return 1 if walk.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
