import { writeObject } from './versioned-object';

/** A host that was selected, as Nova gets it. */
export interface Selection {
  readonly computeNodeUuid: string;
  readonly serviceHost: string;
  readonly nodename: string;
  readonly cellUuid: string;
  /** JSON of what is claimed there, as PUT /allocations takes it; undefined where nothing is claimed. */
  readonly allocationRequest: string | undefined;
  readonly availabilityZone: string | undefined;
}

/** The microversion of allocation requests that stock schedulers write: Nova claims alternates by it. */
export const ALLOCATION_REQUEST_VERSION = '1.36';

/** Version 1.1, which Nova 26 to 33 have. */
export function writeSelection(selection: Selection): object {
  const { computeNodeUuid, serviceHost, nodename, cellUuid, allocationRequest, availabilityZone } = selection;
  return writeObject('Selection', '1.1', {
    compute_node_uuid: computeNodeUuid,
    service_host: serviceHost,
    nodename,
    cell_uuid: cellUuid,
    limits: writeObject('SchedulerLimits', '1.0', { numa_topology: null, vcpu: null, disk_gb: null, memory_mb: null }),
    allocation_request: allocationRequest ?? 'null',
    allocation_request_version: allocationRequest === undefined ? null : ALLOCATION_REQUEST_VERSION,
    availability_zone: availabilityZone ?? null,
  });
}

/** The form for callers that know no objects. */
export function writeLegacySelection({ serviceHost, nodename }: Selection): object {
  return { host: serviceHost, nodename, limits: {} };
}
