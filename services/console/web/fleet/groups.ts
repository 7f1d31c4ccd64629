import { FLAGS, type FleetHost } from '../../api/fleet';
import { natural } from '../../api/natural-order';
import type { Flag } from '../state/fleet-model';
import { amount, className } from '../ui/format';

export const GROUPINGS = { zone: 'Zone', aggregate: 'Aggregate', rack: 'Rack', class: 'Size', none: 'None' } as const;
export type Grouping = keyof typeof GROUPINGS;

export interface HostGroup {
  readonly label: string;
  readonly hosts: readonly FleetHost[];
}

export interface HostFilter {
  /** Words: each a part of the name, zone, rack or an aggregate, or `zone:`, `rack:` or `aggregate:` with the whole name. */
  readonly text: string;
  /** Any of these; all hosts when empty. */
  readonly flags: readonly Flag[];
}

/** The hosts that pass a filter, in their order. */
export function filterHosts(hosts: Iterable<FleetHost>, { text, flags }: HostFilter): FleetHost[] {
  const tests = testsOf(text);
  const mask = flags.reduce((sum, flag) => sum | FLAGS[flag], 0);
  const found: FleetHost[] = [];
  for (const host of hosts) {
    if (mask !== 0 && (host.flags & mask) === 0) continue;
    if (tests.every((passes) => passes(host))) found.push(host);
  }
  return found;
}

function testsOf(text: string): ((host: FleetHost) => boolean)[] {
  const words = text.toLowerCase().matchAll(/(?:(zone|rack|aggregate):)?(?:"([^"]*)"?|(\S+))/g);
  return [...words].map(([, key, quoted, plain]) => {
    const wanted = quoted ?? plain ?? '';
    const namesOf = ({ name, zone, rack, aggregates }: FleetHost) => {
      const names = { zone: [zone], rack: [rack], aggregate: aggregates }[key ?? ''] ?? [
        name,
        zone,
        rack,
        ...aggregates,
      ];
      return names.map((one) => one.toLowerCase());
    };
    return (host) => namesOf(host).some((one) => (key === undefined ? one.includes(wanted) : one === wanted));
  });
}

/** Hosts in groups. A host in several aggregates appears in each. */
export function groupHosts(hosts: readonly FleetHost[], grouping: Grouping, classes: readonly string[]): HostGroup[] {
  const groups = new Map<string, FleetHost[]>();
  for (const host of hosts) {
    for (const label of labelsOf(host, grouping, classes)) {
      const group = groups.get(label);
      if (group === undefined) groups.set(label, [host]);
      else group.push(host);
    }
  }
  return [...groups].map(([label, its]) => ({ label, hosts: its })).sort((a, b) => natural.compare(a.label, b.label));
}

function labelsOf(host: FleetHost, grouping: Grouping, classes: readonly string[]): readonly string[] {
  switch (grouping) {
    case 'zone':
      return [host.zone];
    case 'aggregate':
      return host.aggregates.length === 0 ? ['in no aggregate'] : host.aggregates;
    case 'rack':
      return [host.rack === '' ? 'in no rack' : host.rack];
    case 'class':
      return [sizeOf(host, classes)];
    case 'none':
      return ['All hosts'];
  }
}

/** A host's size: `16 VCPU · Memory 64 GiB`. */
function sizeOf({ capacity }: FleetHost, classes: readonly string[]): string {
  const parts = classes.flatMap((name, i) => {
    const value = capacity[i] ?? 0;
    if (value === 0) return [];
    return [
      name === 'MEMORY_MB' || name === 'DISK_GB'
        ? `${className(name)} ${amount(name, value)}`
        : `${amount(name, value)} ${name}`,
    ];
  });
  return parts.join(' · ') || 'nothing';
}
