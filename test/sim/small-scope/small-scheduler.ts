import { selectDestinationsMethod } from '#libs/contracts/selection';
import { inventory } from '#libs/domain/inventory';
import type { HostReport, PlacementStore } from '#libs/placement/port/placement-store';
import { type AllocationRequest, sealer } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';

export const KEY = 'the key of a small world';

/** The hosts, best first: each has room for one instance. */
export const HOSTS = ['h1', 'h2'] as const;

/**
 * Answers SelectDestinations for one instance as a scheduler promises it: a claim that is held is given again, else the
 * first host is claimed.
 */
export async function selectDestinations(store: PlacementStore, body: Uint8Array, atMs: number): Promise<Uint8Array> {
  const [instanceUuid = ''] = selectDestinationsMethod.request.decode(body).instanceUuids;
  const [held] = await store.consumers([instanceUuid]);
  const host = held ? hostOf(Object.keys(held.allocations)[0] ?? '') : HOSTS[0];
  const selection = (on: string) => {
    const request = requestOn(instanceUuid, on);
    return { host: on, cell: 'cell1', allocationRequest: sealer(KEY)(request)(request), serviceHost: on, epoch: 0 };
  };
  let claimToken = held?.claimToken;
  if (claimToken === undefined) {
    const consumers = [claimWrite(requestOn(instanceUuid, host))];
    const result = await store.commit({ kind: 'write_allocations', atMs, consumers });
    if (result.kind !== 'committed') throw new Error(`the first claim was refused: ${result.kind}`);
    claimToken = result.claimToken;
  }
  const alternates = HOSTS.filter((other) => other !== host).map(selection);
  const destination = { instanceUuid, selected: selection(host), alternates, claimToken };
  return selectDestinationsMethod.response.encode({ destinations: [destination], noValidHost: undefined });
}

/** The report by which a host is known to the store. */
export function reportOf(host: string, atMs: number): HostReport {
  const names = { host, providerUuid: providerOf(host), cell: 'cell1', serviceHost: host };
  const nothing = { traits: [], aggregates: undefined, capabilities: {}, ioOps: 0, externalInstances: 0 };
  return { atMs, ...names, ...nothing, agentRun: 'run', sequence: 1, epoch: 0, inventories: { VCPU: inventory(1) } };
}

/** The host of a root provider. */
export function hostOf(providerUuid: string): string {
  return `h${Number(providerUuid.slice(-2))}`;
}

function requestOn(consumerUuid: string, host: string): AllocationRequest {
  const who = { projectId: 'p', userId: 'u', group: undefined, mappings: {} };
  return { consumerUuid, host, allocations: { [providerOf(host)]: { VCPU: 1 } }, ...who };
}

/** The root provider of a host. */
export function providerOf(host: string): string {
  return `00000000-0000-4000-8000-0000000001${host.slice(1).padStart(2, '0')}`;
}
