package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func main() {
	nvml.Init()
	count, _ := nvml.DeviceGetCount()
	gpu, _ := nvml.DeviceGetHandleByIndex(0)
	name, _ := gpu.GetName()
	fmt.Println(count, name)
}
