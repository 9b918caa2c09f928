// What a monitor asks of each GPU and MIG device, through nvml-wrapper. One line each.
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::Nvml;

fn main() -> Result<(), NvmlError> {
    let nvml = Nvml::init()?;
    println!("driver {}", nvml.sys_driver_version()?);
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        let memory = device.memory_info()?;
        println!(
            "gpu {} {} {} {} MiB {} MiB {} C {} W {} MHz {:?}",
            index,
            device.name()?,
            device.uuid()?,
            memory.total >> 20,
            memory.used >> 20,
            device.temperature(TemperatureSensor::Gpu)?,
            device.power_usage()? / 1000,
            device.clock_info(Clock::SM)?,
            device.architecture()?,
        );
        for process in device.running_compute_processes()? {
            println!("process {} on {}", process.pid, index);
        }
        if let Ok(mode) = device.mig_mode() {
            println!("mig {} {}", index, mode.current != 0);
            if mode.current == 0 {
                continue;
            }
            for mig in 0..device.mig_device_count()? {
                if let Ok(mig_device) = device.mig_device_by_index(mig) {
                    let memory = mig_device.memory_info()?;
                    println!("migdevice {}:{} {} {} MiB", index, mig, mig_device.uuid()?, memory.total >> 20);
                }
            }
        }
    }
    Ok(())
}
