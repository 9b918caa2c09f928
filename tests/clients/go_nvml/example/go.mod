module partita/tests/clients/go_nvml/example

go 1.20

require github.com/NVIDIA/go-nvml v0.13.4-1
