import { isHostName } from '#libs/domain/names';
import type { KnownMachine } from './node-source';

/** A machine as its service shows it. */
export interface FoundMachine {
  readonly link: string;
  readonly id: string;
  /** As `NodeRecord.systemId`; '' when it is not known. */
  readonly systemId: string;
  /** What runs there calls it so; '' for nothing. */
  readonly hostName: string;
}

/**
 * Names the machines of a service, in order.
 *
 * The naive name is the `HostName` that a system shows. Whoever runs on it can set that: a machine that is renamed would be enrolled as a
 * new one, and the instance on it be cleaned away. So a machine is known again by its uuid or serial number, and by where it stands only while
 * nothing else is known of it. One in whose place another stands now keeps its name, so that the other is refused under it. A machine that
 * is seen for the first time is called by the `Id` of its system. Nodes that an older version called by their `HostName` stay called so.
 */
export function nameMachines(machines: readonly FoundMachine[], known: readonly KnownMachine[]): string[] {
  const bySystem = new Map(known.filter(({ systemId }) => systemId !== '').map((one) => [one.systemId, one.host]));
  const byLink = new Map(known.filter(({ systemLink }) => systemLink !== '').map((one) => [one.systemLink, one]));
  const unidentified = new Set(
    known.filter(({ systemId, systemLink }) => systemId === '' && systemLink === '').map(({ host }) => host),
  );
  const present = new Set(machines.map(({ systemId }) => systemId));
  const names = new Map<FoundMachine, string>();
  const taken = new Set<string>();
  const take = (machine: FoundMachine, name: string | undefined) => {
    if (name === undefined || names.has(machine) || taken.has(name)) return;
    names.set(machine, name);
    taken.add(name);
  };
  // By the strongest evidence first, so that no machine takes a name that another has a better claim to.
  for (const machine of machines) if (machine.systemId !== '') take(machine, bySystem.get(machine.systemId));
  for (const machine of machines) {
    const there = byLink.get(machine.link);
    const isElsewhere = there !== undefined && there.systemId !== '' && present.has(there.systemId);
    if (!isElsewhere) take(machine, there?.host);
  }
  for (const machine of machines) if (unidentified.has(machine.hostName)) take(machine, machine.hostName);
  const remembered = new Set(known.map(({ host }) => host));
  for (const machine of machines) {
    const id = machine.id.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
    const options = [
      id,
      `${id}-${machine.systemId
        .replace(/^serial /, '')
        .replace(/[^A-Za-z0-9]+/g, '')
        .slice(0, 12)}`,
    ];
    for (const name of options) if (isHostName(name) && !remembered.has(name)) take(machine, name);
    // Two systems of one id and no other sign: where they stand is all that tells them apart.
    take(
      machine,
      `${id}${machine.link}`
        .replace(/[^A-Za-z0-9]+/g, '-')
        .replace(/^-+/, '')
        .slice(0, 200),
    );
  }
  return machines.map((machine) => names.get(machine) as string);
}
