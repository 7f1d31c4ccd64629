import { SERVICE } from '#libs/contracts/identity';
import type { InstanceOperation } from '#libs/contracts/operations';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import type { Device } from '#libs/domain/devices/device';
import { deviceSuffix, isDeviceSuffix } from '#libs/domain/devices/device-request';
import { evictedBy } from '#libs/domain/devices/taints';
import { BerthError } from '#libs/domain/errors';
import { deviceRequestsFor } from '#libs/domain/extra-specs/resolve';
import type { Instance } from '#libs/domain/instance';
import { NOWHERE_FAULTS } from '#libs/domain/moves/migration';
import type { Conductor } from '../../conductor';
import { operateInstance } from '../operate-instance';

/** An instance with devices: the mappings of its claim. */
export type DeviceHolder = Pick<Consumer, 'uuid' | 'mappings'>;

/** Claims of instances that have devices. */
export function deviceHolders(consumers: readonly Consumer[]): DeviceHolder[] {
  const holding = consumers.filter((one) => one.owner === 'conductor' && devicesOf(one).length > 0);
  return holding.map(({ uuid, mappings }) => ({ uuid, mappings }));
}

/**
 * Moves instances off devices with taints that they do not tolerate, or not any longer (DRA's NoExecute, which ends pods
 * there). As an operator's drain would: live where possible, else cold; within the disruption budgets of groups; at most
 * so many moves at once as there are automatic evacuations. One that no host takes stays and runs, and is tried again.
 */
export async function moveOffTainted(c: Conductor, holders: readonly DeviceHolder[]): Promise<void> {
  const reported = await c.placement.reported([...new Set(holders.flatMap(devicesOf))]);
  const tainted = new Map(reported.flatMap(({ uuid, device }) => (device?.evicts ? [[uuid, device] as const] : [])));
  if (tainted.size === 0) return;
  const held = new Map(holders.filter((one) => devicesOf(one).some((uuid) => tainted.has(uuid))).map(byUuid));
  const records = await c.instances.get([...held.keys()]);
  const due = records.flatMap((record) => {
    const leaving = leavingOf(c, record, held.get(record.uuid), tainted);
    return leaving ? [leaving] : [];
  });
  const room = due.length === 0 ? 0 : Math.max(0, c.config.rebuildParallel - (await countMoves(c)));
  for (const leaving of due.toSorted(longestUntriedFirst).slice(0, room)) await moveOff(c, leaving);
}

interface Leaving {
  readonly record: Instance;
  readonly taints: readonly string[];
  readonly operation: Extract<InstanceOperation, 'migrate' | 'live_migrate'>;
}

/** Undefined for what tolerates its devices, is on its way, or was tried a while ago. */
function leavingOf(
  c: Conductor,
  record: Instance,
  holder: DeviceHolder | undefined,
  tainted: ReadonlyMap<string, Device>,
): Leaving | undefined {
  const { state, fault, migration, updatedAtMs, requestSpec } = record;
  const isAtRest = (state === 'active' || state === 'stopped') && migration === undefined;
  if (!isAtRest || !holder) return undefined;
  const nowMs = c.clock.now();
  if (fault !== undefined && updatedAtMs > nowMs - c.config.rebuildAfterMs) return undefined;
  // Extra specs of its flavor may ask for devices, too.
  const alternatives = deviceRequestsFor(requestSpecCodec.decode(requestSpec)).flatMap((request) =>
    request.firstAvailable.map((one) => ({ ...one, suffix: deviceSuffix(request, one) })),
  );
  const evicting = alternatives.flatMap((alternative) =>
    (holder.mappings[alternative.suffix] ?? []).flatMap((uuid) => {
      const device = tainted.get(uuid);
      const taints = device ? evictedBy(device, alternative, nowMs) : [];
      return device && taints.length > 0 ? [{ taints, sinceMs: Math.min(...Object.values(device.evicts ?? {})) }] : [];
    }),
  );
  if (evicting.length === 0) return undefined;
  // A fault since the taint is that of a live move.
  const wasTried = updatedAtMs > Math.min(...evicting.map(({ sinceMs }) => sinceMs));
  const goesCold = fault !== undefined && wasTried && !NOWHERE_FAULTS.includes(fault.reason);
  const operation = state === 'stopped' || goesCold ? 'migrate' : 'live_migrate';
  return { record, taints: [...new Set(evicting.flatMap(({ taints }) => taints))], operation };
}

/** A refusal, by a budget or while it is not certain where it runs, is tried again by the next pass. */
async function moveOff(c: Conductor, { record, taints, operation }: Leaving): Promise<void> {
  const { uuid, host, version } = record;
  const fields = { instance_uuid: uuid, host, taints, operation };
  const order = { instanceUuid: uuid, operation, version, targetHost: '', targetCell: '', confirmAfterMs: CONFIRM_MS };
  try {
    await operateInstance(c, { ...order, resizeTo: undefined }, SERVICE);
    c.log.warn({ event: 'device_evicts', ...fields }, 'moving an instance off a tainted device');
  } catch (thrown) {
    const { code, reason, message } = BerthError.from(thrown);
    if (code === 'unavailable') throw thrown;
    c.log.info({ event: 'device_eviction_deferred', ...fields, reason }, `not moved off a tainted device: ${message}`);
  }
}

/** Nobody is asked whether the move was right. */
const CONFIRM_MS = 1;

/** Moves under way, whoever asked for them. */
async function countMoves(c: Conductor): Promise<number> {
  const states = ['resize', 'migrating', 'revert_resize'] as const;
  const listed = await Promise.all(states.map((state) => c.instances.list({ state }, undefined, Infinity)));
  return listed.reduce((sum, { length }) => sum + length, 0);
}

/** Those that found no host come after all others, in turn. */
function longestUntriedFirst({ record: a }: Leaving, { record: b }: Leaving): number {
  return Number(a.fault !== undefined) - Number(b.fault !== undefined) || a.updatedAtMs - b.updatedAtMs;
}

function devicesOf({ mappings }: Pick<DeviceHolder, 'mappings'>): string[] {
  return Object.entries(mappings).flatMap(([suffix, uuids]) => (isDeviceSuffix(suffix) ? uuids : []));
}

function byUuid(holder: DeviceHolder): readonly [string, DeviceHolder] {
  return [holder.uuid, holder];
}
