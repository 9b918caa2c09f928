// What nvidia-mig-parted does, on NVIDIA's libraries for Go that it stands on: finds GPUs on the PCI bus and through NVML,
// sets the MIG mode, cuts a layout by trying orders of its profiles, asserts it, and rebuilds it from a checkpoint.
//
// usage: go_nvlib LAYOUT...   where a LAYOUT is "2x1g.10gb 1x2g.20gb 1x3g.40gb"; each is cut on GPU 0
package main

import (
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

var lib = nvml.New()

func must(ret nvml.Return, what string) {
	if ret != nvml.SUCCESS {
		panic(fmt.Sprintf("%s: %v", what, nvml.ErrorString(ret)))
	}
}

func check(err error, what string) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

func expect(good bool, format string, values ...any) {
	if !good {
		panic(fmt.Sprintf(format, values...))
	}
}

// The PCI bus shows the GPUs that NVML has, with the same numbers and the driver bound.
func comparePci() int {
	gpus, err := nvpci.New().GetGPUs()
	check(err, "reading the PCI bus")
	count, ret := lib.DeviceGetCount()
	must(ret, "counting")
	expect(len(gpus) == count, "the bus has %d GPUs, NVML %d", len(gpus), count)
	for _, gpu := range gpus {
		handle, ret := lib.DeviceGetHandleByPciBusId(gpu.Address)
		must(ret, gpu.Address)
		pci, ret := handle.GetPciInfo()
		must(ret, "PCI info")
		expect(pci.PciDeviceId == uint32(gpu.Device)<<16|uint32(gpu.Vendor), "%s is %x:%x", gpu.Address, gpu.Vendor, gpu.Device)
		socket, ret := handle.GetNumaNodeId()
		must(ret, "NUMA node")
		expect(gpu.NumaNode == socket, "%s is at NUMA node %d, NVML says %d", gpu.Address, gpu.NumaNode, socket)
		expect(gpu.Driver == "nvidia", "%s has the driver %q", gpu.Address, gpu.Driver)
	}
	return count
}

// Mode changes that need a reset get one of all GPUs, by nvidia-smi.
func setMode(index int, mode int) {
	handle, ret := lib.DeviceGetHandleByIndex(index)
	must(ret, "handle")
	_, ret = handle.SetMigMode(mode)
	must(ret, "setting the mode")
	current, pending, ret := handle.GetMigMode()
	must(ret, "reading the mode")
	if current == pending {
		return
	}
	gpus, err := nvpci.New().GetGPUs()
	check(err, "reading the PCI bus")
	var ids []string
	for _, gpu := range gpus {
		ids = append(ids, gpu.Address)
	}
	must(lib.Shutdown(), "shutdown")
	output, err := exec.Command("nvidia-smi", "-r", "-i", strings.Join(ids, ",")).CombinedOutput()
	check(err, "nvidia-smi -r: "+string(output))
	must(lib.Init(), "init")
	handle, ret = lib.DeviceGetHandleByIndex(index)
	must(ret, "handle")
	current, _, ret = handle.GetMigMode()
	must(ret, "reading the mode")
	expect(current == mode, "the mode is %d after a reset, expected %d", current, mode)
}

func gpu(index int) device.Device {
	handle, ret := lib.DeviceGetHandleByIndex(index)
	must(ret, "handle")
	dev, err := device.New(lib).NewDevice(handle)
	check(err, "device")
	return dev
}

type instance struct {
	profile   device.MigProfile
	placement nvml.GpuInstancePlacement
}

func clear(index int) {
	dev := gpu(index)
	for number := 0; number < nvml.GPU_INSTANCE_PROFILE_COUNT; number++ {
		profile, ret := dev.GetGpuInstanceProfileInfo(number)
		if ret != nvml.SUCCESS {
			continue
		}
		instances, ret := dev.GetGpuInstances(&profile)
		must(ret, "listing GPU instances")
		for _, gi := range instances {
			for number := 0; number < nvml.COMPUTE_INSTANCE_PROFILE_COUNT; number++ {
				profile, ret := gi.GetComputeInstanceProfileInfo(number, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
				if ret != nvml.SUCCESS {
					continue
				}
				computes, ret := gi.GetComputeInstances(&profile)
				must(ret, "listing compute instances")
				for _, ci := range computes {
					must(ci.Destroy(), "destroying a compute instance")
				}
			}
			must(gi.Destroy(), "destroying a GPU instance")
		}
	}
}

// Several compute profiles may have one name: a double-memory slice of an H100 has "1 slice, revision 1" alone.
func computeProfile(gi nvml.GpuInstance, dev device.Device, wanted device.MigProfile) nvml.ComputeInstanceProfileInfo {
	known, err := dev.GetMigProfiles()
	check(err, "MIG profiles")
	for _, profile := range known {
		ids := profile.GetInfo()
		if profile.String() != wanted.String() || ids.GIProfileID != wanted.GetInfo().GIProfileID {
			continue
		}
		if info, ret := gi.GetComputeInstanceProfileInfo(ids.CIProfileID, ids.CIEngProfileID); ret == nvml.SUCCESS {
			return info
		}
	}
	panic("the GPU instance has no compute profile for " + wanted.String())
}

func create(dev device.Device, profile device.MigProfile, placement *nvml.GpuInstancePlacement) (nvml.GpuInstance, bool) {
	ids := profile.GetInfo()
	giProfile, ret := dev.GetGpuInstanceProfileInfo(ids.GIProfileID)
	must(ret, profile.String())
	var gi nvml.GpuInstance
	if placement == nil {
		gi, ret = dev.CreateGpuInstance(&giProfile)
	} else {
		gi, ret = dev.CreateGpuInstanceWithPlacement(&giProfile, placement)
	}
	if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
		return nil, false
	}
	must(ret, "creating "+profile.String())
	ciProfile := computeProfile(gi, dev, profile)
	_, ret = gi.CreateComputeInstance(&ciProfile)
	must(ret, "creating the compute instance of "+profile.String())
	return gi, true
}

// One order after the other, until one fits.
func permutations(profiles []device.MigProfile, visit func([]device.MigProfile) bool) bool {
	if len(profiles) == 0 {
		return visit(nil)
	}
	tried := map[string]bool{}
	for i, first := range profiles {
		if tried[first.String()] {
			continue
		}
		tried[first.String()] = true
		rest := append(append([]device.MigProfile{}, profiles[:i]...), profiles[i+1:]...)
		if permutations(rest, func(order []device.MigProfile) bool {
			return visit(append([]device.MigProfile{first}, order...))
		}) {
			return true
		}
	}
	return false
}

func apply(index int, profiles []device.MigProfile) {
	orders := 0
	fits := permutations(profiles, func(order []device.MigProfile) bool {
		clear(index)
		orders++
		dev := gpu(index)
		for _, profile := range order {
			if _, ok := create(dev, profile, nil); !ok {
				return false
			}
		}
		return true
	})
	expect(fits, "no order of %v fits", profiles)
}

// "MIG UUID at start:size is PROFILE", for each MIG device.
func export(index int) (lines []string, instances []instance) {
	devices, err := gpu(index).GetMigDevices()
	check(err, "MIG devices")
	for _, mig := range devices {
		profile, err := mig.GetProfile()
		check(err, "profile of a MIG device")
		uuid, ret := mig.GetUUID()
		must(ret, "UUID")
		id, ret := mig.GetGpuInstanceId()
		must(ret, "GPU instance id")
		gi, ret := gpu(index).GetGpuInstanceById(id)
		must(ret, "GPU instance")
		info, ret := gi.GetInfo()
		must(ret, "GPU instance info")
		lines = append(lines, fmt.Sprintf("%s at %d:%d is %s", uuid, info.Placement.Start, info.Placement.Size, profile))
		instances = append(instances, instance{profile: profile, placement: info.Placement})
	}
	return lines, instances
}

func parse(layout string) (profiles []device.MigProfile, names []string) {
	known, err := gpu(0).GetMigProfiles()
	check(err, "MIG profiles")
	for _, entry := range strings.Fields(layout) {
		var count int
		var name string
		_, err := fmt.Sscanf(entry, "%dx%s", &count, &name)
		check(err, entry)
		found := false
		for _, profile := range known {
			if profile.Matches(name) {
				for i := 0; i < count; i++ {
					profiles = append(profiles, profile)
					names = append(names, profile.String())
				}
				found = true
				break
			}
		}
		expect(found, "the GPU has no profile %s; it has %v", name, known)
	}
	sort.Strings(names)
	return profiles, names
}

func exercise(layout string) {
	profiles, wanted := parse(layout)
	apply(0, profiles)
	before, instances := export(0)
	var got []string
	for _, one := range instances {
		got = append(got, one.profile.String())
	}
	sort.Strings(got)
	expect(strings.Join(got, " ") == strings.Join(wanted, " "), "cut %v, found %v", wanted, got)
	// A checkpoint is profiles with their places; what comes of it must be the same to the UUID.
	clear(0)
	if left, _ := export(0); len(left) != 0 {
		panic(fmt.Sprintf("after clearing there are %v", left))
	}
	for _, one := range instances {
		_, ok := create(gpu(0), one.profile, &one.placement)
		expect(ok, "%s at %d does not fit any more", one.profile, one.placement.Start)
	}
	after, _ := export(0)
	sort.Strings(before)
	sort.Strings(after)
	expect(strings.Join(before, "\n") == strings.Join(after, "\n"), "checkpoint %v, restored %v", before, after)
	fmt.Printf("cut, asserted and restored: %s\n", layout)
	clear(0)
}

func main() {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Println(failure)
			os.Exit(1)
		}
	}()
	must(lib.Init(), "init")
	platform := info.New(info.WithNvmlLib(lib)).ResolvePlatform()
	expect(platform == info.PlatformNVML, "the platform is %q", platform)
	fmt.Printf("GPUs on the PCI bus as in NVML: %d\n", comparePci())
	capable, err := gpu(0).IsMigCapable()
	check(err, "is it MIG capable")
	expect(capable, "GPU 0 is not MIG capable")
	setMode(0, nvml.DEVICE_MIG_ENABLE)
	enabled, err := gpu(0).IsMigEnabled()
	check(err, "is MIG enabled")
	expect(enabled, "MIG is not enabled")
	for _, layout := range os.Args[1:] {
		exercise(layout)
	}
	setMode(0, nvml.DEVICE_MIG_DISABLE)
	must(lib.Shutdown(), "shutdown")
}
