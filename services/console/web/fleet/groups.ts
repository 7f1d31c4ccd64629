import { FLAGS, type FleetHost } from '../../api/fleet';
import type { Flag } from '../state/fleet-model';
import { amount, className } from '../ui/format';

export const GROUPINGS = { zone: 'Zone', aggregate: 'Aggregate', rack: 'Rack', class: 'Size', none: 'None' } as const;
export type Grouping = keyof typeof GROUPINGS;

export interface HostGroup {
  readonly label: string;
  readonly hosts: readonly FleetHost[];
}

export interface HostFilter {
  /** A part of the name, zone or rack. */
  readonly text: string;
  /** Any of these; all hosts when empty. */
  readonly flags: readonly Flag[];
}

/** The hosts that pass a filter, by name. */
export function filterHosts(hosts: Iterable<FleetHost>, { text, flags }: HostFilter): FleetHost[] {
  const wanted = text.trim().toLowerCase();
  const mask = flags.reduce((sum, flag) => sum | FLAGS[flag], 0);
  const found: FleetHost[] = [];
  for (const host of hosts) {
    if (mask !== 0 && (host.flags & mask) === 0) continue;
    const isNamed = [host.name, host.zone, host.rack, ...host.aggregates].some((name) =>
      name.toLowerCase().includes(wanted),
    );
    if (wanted === '' || isNamed) found.push(host);
  }
  return found.sort((a, b) => natural.compare(a.name, b.name));
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

const natural = new Intl.Collator('en', { numeric: true });
