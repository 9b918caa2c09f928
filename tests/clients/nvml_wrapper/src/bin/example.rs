use nvml_wrapper::Nvml;

fn main() -> Result<(), nvml_wrapper::error::NvmlError> {
    let nvml = Nvml::init()?;
    println!("{} {}", nvml.device_count()?, nvml.device_by_index(0)?.name()?);
    Ok(())
}
