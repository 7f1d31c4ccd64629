import type { Host } from '#libs/domain/host';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../../conductor';

/** So many hosts, or instances of one, are read at once. */
const PAGE = 500;

/** Since when a host must be down to count as dead. */
export function deadBeforeMs(c: Conductor): number {
  return c.clock.now() - c.config.rebuildAfterMs;
}

/** True for a host that has been down for long enough. It is dead once it is fenced, too. */
export function isDown({ up, updatedAtMs }: Host, beforeMs: number): boolean {
  return !up && updatedAtMs <= beforeMs;
}

/** The hosts that have been down for long enough, each with its instances. Reads these, and the names of all hosts with instances. */
export async function* onDeadHosts(
  c: Conductor,
): AsyncGenerator<{ readonly host: Host; readonly records: readonly Instance[] }> {
  const beforeMs = deadBeforeMs(c);
  for (let marker = ''; ; ) {
    const names = await c.instances.hosts(marker, PAGE);
    const hosts = await c.placement.hosts(names);
    for (const host of hosts.filter((one) => isDown(one, beforeMs))) {
      yield { host, records: await listOn(c, host.name) };
    }
    if (names.length < PAGE) return;
    marker = names.at(-1) ?? '';
  }
}

async function listOn(c: Conductor, host: string): Promise<readonly Instance[]> {
  const found: Instance[] = [];
  for (;;) {
    const page = await c.instances.list({ host }, found.at(-1)?.uuid, PAGE);
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
