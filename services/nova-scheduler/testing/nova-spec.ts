import { writeObject } from '../objects/versioned-object';

/** Fields of a spec that a test says; nested objects by the plain fields that matter. */
export interface SpecFields {
  readonly vcpus?: number;
  readonly memoryMb?: number;
  readonly rootGb?: number;
  readonly extraSpecs?: Readonly<Record<string, string>>;
  readonly image?: Readonly<Record<string, unknown>>;
  readonly imageId?: string | undefined;
  readonly flavorName?: string;
  readonly group?: Readonly<Record<string, unknown>>;
  readonly destination?: Readonly<Record<string, unknown>>;
  readonly requestGroups?: readonly Readonly<Record<string, unknown>>[];
  /** Further fields of RequestSpec, as they are. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A RequestSpec as Nova sends it. */
export function aNovaSpec(fields: SpecFields = {}): object {
  const { vcpus = 1, memoryMb = 256, rootGb = 5, extraSpecs = {}, image, group, destination, requestGroups } = fields;
  const { imageId, flavorName = 'm1.tiny' } = fields;
  const flavor = {
    vcpus,
    memory_mb: memoryMb,
    root_gb: rootGb,
    ephemeral_gb: 0,
    swap: 0,
    extra_specs: extraSpecs,
    name: flavorName,
  };
  const properties = writeObject('ImageMetaProps', '1.34', image ?? {});
  return writeObject('RequestSpec', '1.14', {
    flavor: writeObject('Flavor', '1.2', flavor),
    image: writeObject('ImageMeta', '1.8', {
      disk_format: 'raw',
      properties,
      ...(imageId === undefined ? {} : { id: imageId }),
    }),
    project_id: 'project',
    user_id: 'user',
    num_instances: 1,
    instance_group: group === undefined ? null : writeObject('InstanceGroup', '1.11', group),
    requested_destination: destination === undefined ? null : writeObject('Destination', '1.4', destination),
    requested_resources: (requestGroups ?? []).map((one) => writeObject('RequestGroup', '1.3', one)),
    ...fields.more,
  });
}
