import { type Consumer, INSTANCE_CONSUMER } from '#libs/domain/consumer';
import type { Guarantee } from '#libs/domain/grouping/guarantee';
import type { Host } from '#libs/domain/host';
import { capacityOf } from '#libs/domain/inventory';
import type { Rows } from '#libs/placement/port/placement-store';
import { HOSTS, RACKS } from './settings';

/** The hosts of one loss. */
export type Lost = readonly string[];

/** An instance with the host that it holds a claim on. */
export interface Held {
  readonly uuid: string;
  readonly host: string;
  readonly vcpus: number;
  readonly priority: number;
  readonly group: string | undefined;
}

/** A fleet of flat hosts as the store has it: by trying all ways it knows whether a loss could be taken in. It uses no witness. */
export class Oracle {
  readonly held: readonly Held[];
  readonly #free = new Map<string, number>();

  constructor(rows: Rows) {
    const { hosts = [], providers = [], consumers = [], usages = [] } = rows;
    const hostOf = new Map(hosts.map((host) => [host.providerUuid, host]));
    for (const { uuid, inventories } of providers) {
      const host = hostOf.get(uuid);
      if (!host || !isInService(host)) continue;
      const used = usages.find(({ providerUuid }) => providerUuid === uuid)?.used['VCPU'] ?? 0;
      this.#free.set(host.name, inventories['VCPU'] ? capacityOf(inventories['VCPU']) - used : 0);
    }
    this.held = consumers.flatMap((one) => heldBy(one, hostOf));
  }

  /** Losses that a guarantee declares. */
  static lossesOf({ lose, count }: Guarantee): readonly Lost[] {
    const domains = lose === 'host' ? HOSTS.map((host) => [host]) : Object.values(RACKS);
    return choices(domains, count).map((chosen) => chosen.flat());
  }

  /** Instances that a loss takes and a guarantee covers. */
  takenBy(lost: Lost, { minPriority }: Guarantee): readonly Held[] {
    return this.held.filter(({ host, priority }) => lost.includes(host) && priority >= minPriority);
  }

  /** True if everything that it takes has a place elsewhere. */
  stands(lost: Lost, guarantee: Guarantee): boolean {
    const taken = this.takenBy(lost, guarantee);
    const left = new Map([...this.#free].filter(([host]) => !lost.includes(host)));
    const staying = this.held.filter((one) => !taken.includes(one));
    return fits(unitsOf(taken), left, staying);
  }
}

/** A unit of a move: an instance by itself, or the members of an affinity group on one host. */
interface Unit {
  readonly vcpus: number;
  readonly group: string | undefined;
}

function unitsOf(taken: readonly Held[]): readonly Unit[] {
  const units = new Map<string, Unit>();
  for (const { uuid, host, vcpus, group } of taken) {
    const key = group?.endsWith(' affinity') ? `${group} ${host}` : uuid;
    units.set(key, { group, vcpus: vcpus + (units.get(key)?.vcpus ?? 0) });
  }
  return [...units.values()].sort((a, b) => b.vcpus - a.vcpus);
}

function fits(
  [unit, ...rest]: readonly Unit[],
  free: ReadonlyMap<string, number>,
  members: readonly Pick<Held, 'host' | 'group'>[],
): boolean {
  if (!unit) return true;
  const { group, vcpus } = unit;
  const mates = group === undefined ? [] : members.filter((one) => one.group === group).map(({ host }) => host);
  for (const [host, left] of free) {
    if (left < vcpus) continue;
    if (group?.endsWith(' affinity') ? mates.some((mate) => mate !== host) : mates.includes(host)) continue;
    if (fits(rest, new Map([...free, [host, left - vcpus]]), [...members, { host, group }])) return true;
  }
  return false;
}

function heldBy(consumer: Consumer, hostOf: ReadonlyMap<string, Host>): readonly Held[] {
  const { uuid, owner, consumerType, allocations, priority = 0, projectId, groupId } = consumer;
  const [[providerUuid, { VCPU: vcpus = 0 }] = ['', {}]] = Object.entries(allocations);
  const host = hostOf.get(providerUuid)?.name;
  if (owner !== 'conductor' || consumerType !== INSTANCE_CONSUMER || host === undefined) return [];
  return [{ uuid, host, vcpus, priority, group: groupId && `${projectId} ${groupId}` }];
}

function isInService({ up, enabled }: Host): boolean {
  return up && enabled;
}

function choices<T>([first, ...rest]: readonly T[], count: number): readonly (readonly T[])[] {
  if (count === 0) return [[]];
  if (first === undefined) return [];
  return [...choices(rest, count - 1).map((one) => [first, ...one]), ...choices(rest, count)];
}
