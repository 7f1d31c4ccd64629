import { type Field, list, type Read, scalar, text } from './versioned-object';

/* Fields of ImageMetaProps, with the version that brought each. */

/** A property that asks nothing of a host by itself; operators may compare it with metadata of aggregates, as Python writes it. */
export interface ComparedProperty {
  readonly inPython: string;
  /** False for false and 0, which are nothing to Python. */
  readonly isTrue: boolean;
}

const compared: Read<ComparedProperty | undefined> = (value) => {
  const inPython = pythonOf(value);
  return inPython === undefined ? undefined : { inPython, isTrue: Boolean(value) };
};
const ignored: Field<ComparedProperty | undefined> = { read: compared };

/** Undefined for an empty text or list, and for what no property is. */
function pythonOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value) && value.length > 0) {
    return `[${value.map((one) => (typeof one === 'string' ? `'${one}'` : pythonOf(one))).join(', ')}]`;
  }
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : undefined;
}

export const IMAGE_PROPERTIES = {
  hw_architecture: { read: scalar },
  hw_auto_disk_config: ignored,
  hw_boot_menu: ignored,
  hw_cdrom_bus: { read: scalar },
  hw_cpu_cores: ignored,
  hw_cpu_max_cores: ignored,
  hw_cpu_max_sockets: ignored,
  hw_cpu_max_threads: ignored,
  hw_cpu_policy: { read: scalar },
  hw_cpu_realtime_mask: { read: scalar, since: '1.10' },
  hw_cpu_sockets: ignored,
  hw_cpu_thread_policy: { read: scalar, since: '1.9' },
  hw_cpu_threads: ignored,
  hw_device_id: ignored,
  hw_disk_bus: { read: scalar },
  hw_disk_type: ignored,
  hw_emulation_architecture: { read: scalar, since: '1.31' },
  hw_ephemeral_encryption: { read: scalar, since: '1.32' },
  hw_ephemeral_encryption_format: { read: scalar, since: '1.32' },
  hw_ephemeral_encryption_secret_uuid: { read: compared, since: '1.37' },
  hw_firmware_stateless: { read: scalar, since: '1.38' },
  hw_firmware_type: { read: compared, since: '1.11' },
  hw_floppy_bus: ignored,
  hw_input_bus: { read: compared, since: '1.29' },
  hw_ipxe_boot: ignored,
  hw_locked_memory: { read: compared, since: '1.33' },
  hw_machine_type: ignored,
  hw_maxphysaddr_bits: { read: compared, since: '1.36' },
  hw_maxphysaddr_mode: { read: scalar, since: '1.36' },
  hw_mem_encryption: { read: scalar, since: '1.24' },
  hw_mem_encryption_model: { read: scalar, since: '1.42' },
  hw_mem_page_size: ignored,
  hw_numa_cpus: ignored,
  hw_numa_mem: ignored,
  hw_numa_nodes: ignored,
  hw_pci_numa_affinity_policy: { read: scalar, since: '1.25' },
  hw_pmu: { read: compared, since: '1.23' },
  hw_pointer_model: { read: compared, since: '1.14' },
  hw_qemu_guest_agent: ignored,
  hw_redirected_usb_ports: { read: compared, since: '1.41' },
  hw_rescue_bus: { read: compared, since: '1.15' },
  hw_rescue_device: { read: compared, since: '1.15' },
  hw_rng_model: ignored,
  hw_scsi_model: ignored,
  hw_serial_port_count: ignored,
  hw_sound_model: { read: scalar, since: '1.40' },
  hw_time_hpet: { read: compared, since: '1.21' },
  hw_tpm_model: { read: scalar, since: '1.27' },
  hw_tpm_version: { read: scalar, since: '1.27' },
  hw_usb_model: { read: compared, since: '1.41' },
  hw_video_model: { read: scalar },
  hw_video_ram: ignored,
  hw_vif_model: { read: scalar },
  hw_vif_multiqueue_enabled: { read: compared, since: '1.4' },
  hw_viommu_model: { read: scalar, since: '1.34' },
  hw_virtio_packed_ring: { read: scalar, since: '1.35' },
  hw_vm_mode: { read: scalar },
  hw_watchdog_action: ignored,
  img_bdm_v2: ignored,
  img_bittorrent: ignored,
  img_block_device_mapping: ignored,
  img_cache_in_nova: ignored,
  img_compression_level: ignored,
  img_config_drive: { read: compared, since: '1.7' },
  img_hide_hypervisor_id: { read: compared, since: '1.19' },
  img_hv_requested_version: { read: scalar, since: '1.2' },
  img_hv_type: { read: scalar, since: '1.2' },
  img_linked_clone: ignored,
  img_mappings: ignored,
  img_owner_id: ignored,
  img_root_device_name: ignored,
  img_signature: { read: compared, since: '1.12' },
  img_signature_certificate_uuid: { read: compared, since: '1.12' },
  img_signature_hash_method: { read: compared, since: '1.12' },
  img_signature_key_type: { read: compared, since: '1.12' },
  img_use_agent: ignored,
  img_version: ignored,
  os_admin_user: { read: compared, since: '1.5' },
  os_command_line: ignored,
  os_distro: ignored,
  os_require_quiesce: { read: compared, since: '1.1' },
  os_secure_boot: { read: scalar, since: '1.13' },
  os_skip_agent_inject_files_at_boot: ignored,
  os_skip_agent_inject_ssh: ignored,
  os_type: ignored,
  traits_required: { read: list(text), since: '1.20' },
} as const;
