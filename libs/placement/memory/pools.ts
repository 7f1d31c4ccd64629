import type { HostHolder } from '../port/placement-store';
import type { HeldBy, JoinPool, NodeWrite, NodeWriteResult, PoolGrant, PoolMember } from '../port/pools';
import type { Holders } from './holders';

interface KeptMember extends PoolMember {
  readonly untilMs: number;
}

/** As `redis/pools.ts` and its scripts. */
export class MemoryPools {
  readonly #pools = new Map<string, { readonly epoch: number; readonly members: readonly KeptMember[] }>();
  readonly #nodes = new Map<string, NodeWrite>();

  constructor(private readonly holders: Holders) {}

  join({ pool, serviceHost, agentRun, weight, leaseMs, atMs, formerRun = '' }: JoinPool): PoolGrant {
    const { epoch: before, members } = this.#pools.get(pool) ?? { epoch: 0, members: [] };
    const mine = members.find((member) => member.serviceHost === serviceHost);
    const isLive = mine !== undefined && mine.untilMs > atMs;
    if (isLive && mine.agentRun !== agentRun && mine.agentRun !== formerRun) {
      return { kind: 'taken', holder: { agentRun: mine.agentRun, serviceHost }, leftMs: mine.untilMs - atMs };
    }
    const others = members.filter((member) => member !== mine);
    const live = others.filter(({ untilMs }) => untilMs > atMs);
    const isSame = isLive && mine.agentRun === agentRun && mine.weight === weight && live.length === others.length;
    const epoch = isSame ? before : Math.max(before + 1, atMs);
    const all = [...live, { serviceHost, agentRun, weight, untilMs: atMs + leaseMs }];
    const sorted = all.toSorted((a, b) => (a.serviceHost < b.serviceHost ? -1 : 1));
    this.#pools.set(pool, { epoch, members: sorted });
    return { kind: 'member', pool: { epoch, members: sorted.map(asMember) } };
  }

  leave({ pool, serviceHost, agentRun }: HostHolder & { readonly pool: string }): void {
    const present = this.#pools.get(pool);
    const rest = present?.members.filter((one) => one.serviceHost !== serviceHost || one.agentRun !== agentRun);
    if (!present || !rest || rest.length === present.members.length) return;
    this.#pools.set(pool, { epoch: present.epoch + 1, members: rest });
  }

  write(change: NodeWrite): NodeWriteResult {
    const { host, epoch, updatedAtMs } = change;
    const present = this.holders.get(host)?.revision;
    if (present !== epoch) return { kind: 'epoch', present };
    const before = this.#nodes.get(host);
    const isLate = before?.epoch === epoch && before.updatedAtMs > updatedAtMs;
    if (!isLate) this.#nodes.set(host, change);
    return { kind: 'written' };
  }

  heldBy(hosts: readonly string[]): (HeldBy | undefined)[] {
    return hosts.map((host) => {
      const { revision: epoch = 0, row } = this.holders.get(host) ?? {};
      if (!row || row.serviceHost === '') return undefined;
      return { epoch, agentRun: row.agentRun, serviceHost: row.serviceHost };
    });
  }

  nodes(hosts: readonly string[]): (string | undefined)[] {
    return hosts.map((host) => this.#nodes.get(host)?.content);
  }

  nodeNames(): string[] {
    return [...this.#nodes.keys()].toSorted();
  }
}

function asMember({ serviceHost, agentRun, weight }: KeptMember): PoolMember {
  return { serviceHost, agentRun, weight };
}
