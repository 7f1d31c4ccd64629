import { isStandardTrait } from '#libs/domain/standard-names';
import { isTrue, type NovaRelease, wishOf } from './hardware-wishes';
import type { ImageProperty, NovaRequest } from './nova-request';

/** Nova's options for asking Placement, by their names in nova.conf. */
export interface ImageTraitSettings {
  readonly queryPlacementForImageTypeSupport: boolean;
  readonly imageMetadataPrefilter: boolean;
  readonly release: NovaRelease;
}

/** Traits that the root provider of a host must have for the image and its properties. */
export function rootTraitsFor(request: NovaRequest, settings: ImageTraitSettings): string[] {
  const { release, queryPlacementForImageTypeSupport, imageMetadataPrefilter } = settings;
  return [
    ...(queryPlacementForImageTypeSupport ? imageType(request) : []),
    ...(imageMetadataPrefilter ? imageMetadata(request) : []),
    ...(request.extraSpecs.has('accel:device_profile') ? ['COMPUTE_ACCELERATORS'] : []),
    ...(release >= 29 && isTrue(wishOf(request, 'virtio_packed_ring')) ? ['COMPUTE_NET_VIRTIO_PACKED'] : []),
    ...ephemeralEncryption(request),
    ...(release >= 32 && wishOf(request, 'sound_model') === 'virtio' ? ['COMPUTE_SOUND_MODEL_VIRTIO'] : []),
    ...(release >= 33 ? tpmSecret(request) : []),
  ];
}

function imageType({ spec }: NovaRequest): string[] {
  const format = spec.image?.disk_format;
  if (spec.is_bfv || format === undefined) return [];
  return standard([`COMPUTE_IMAGE_TYPE_${format.toUpperCase()}`]);
}

const PREFIXES: Readonly<Partial<Record<ImageProperty, string>>> = {
  hw_cdrom_bus: 'COMPUTE_STORAGE_BUS',
  hw_disk_bus: 'COMPUTE_STORAGE_BUS',
  hw_video_model: 'COMPUTE_GRAPHICS_MODEL',
  hw_vif_model: 'COMPUTE_NET_VIF_MODEL',
  hw_architecture: 'HW_ARCH',
  hw_emulation_architecture: 'COMPUTE_ARCH',
  hw_viommu_model: 'COMPUTE_VIOMMU',
};

/** All of them or none: with a value that no trait stands for Nova asks for none. */
function imageMetadata(request: NovaRequest): string[] {
  const traits = Object.entries(PREFIXES).flatMap(([name, prefix]) => {
    const value = request.imageProperty(name as ImageProperty);
    return value === undefined ? [] : [`${prefix}_${value.replaceAll('-', '_').toUpperCase()}`];
  });
  return standard(traits);
}

function standard(traits: string[]): string[] {
  return traits.every(isStandardTrait) ? traits : [];
}

function ephemeralEncryption(request: NovaRequest): string[] {
  if (!isTrue(wishOf(request, 'ephemeral_encryption'))) return [];
  const format = wishOf(request, 'ephemeral_encryption_format');
  const withFormat = format === undefined ? [] : [`COMPUTE_EPHEMERAL_ENCRYPTION_${format.toUpperCase()}`];
  return ['COMPUTE_EPHEMERAL_ENCRYPTION', ...withFormat];
}

function tpmSecret(request: NovaRequest): string[] {
  if (wishOf(request, 'tpm_version') === undefined) return [];
  const security = request.extraSpecs.get('hw:tpm_secret_security') ?? 'user';
  return [`COMPUTE_SECURITY_TPM_SECRET_SECURITY_${security.toUpperCase()}`];
}
