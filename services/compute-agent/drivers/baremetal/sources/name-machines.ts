import { isHostName } from '#libs/domain/names';
import type { KnownMachine } from './node-source';

/** A machine as its service shows it. */
export interface FoundMachine {
  readonly link: string;
  readonly id: string;
  /** `NodeRecord.systemId`; '' while unknown. */
  readonly systemId: string;
  /** The name that its operating system set, or else its `Id`: the name in older versions. '' when it was not read. */
  readonly hostName: string;
  /** True when it has Berth's mark, or could not be read: it need not be new. */
  readonly mayBeKnown?: boolean;
}

export interface NamedMachine {
  readonly name: string;
  /** Why it may be a node with another name; '' for none. Then nothing is ordered of it, and its name is not kept. */
  readonly doubt: string;
}

/**
 * Names the machines of a service, in order.
 *
 * The naive name is a system's `HostName`. Its tenant can set that: a renamed machine would be enrolled as a new one,
 * and the instance on it cleaned away. So a machine is recognised by its uuid or serial number, and by its path only
 * while nothing else is known of it. A machine that was replaced keeps its name, so that its replacement is refused
 * under it. A new machine is named after the `Id` of its system. Nodes that an older version named after their
 * `HostName` keep the name if exactly one machine shows it. While no machine shows the name of such a node, any machine
 * that Berth has managed may be that node.
 */
export function nameMachines(machines: readonly FoundMachine[], known: readonly KnownMachine[]): NamedMachine[] {
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
  // Strongest evidence first, so that no machine takes a name that another has a better claim to.
  for (const machine of machines) if (machine.systemId !== '') take(machine, bySystem.get(machine.systemId));
  for (const machine of machines) {
    const there = byLink.get(machine.link);
    const isElsewhere = there !== undefined && there.systemId !== '' && present.has(there.systemId);
    if (!isElsewhere) take(machine, there?.host);
  }
  const strangers = machines.filter((machine) => !names.has(machine));
  for (const machine of strangers) {
    const isOnly = strangers.every((other) => other === machine || other.hostName !== machine.hostName);
    if (isOnly && unidentified.has(machine.hostName)) take(machine, machine.hostName);
  }
  // A node in `enroll` runs nothing under Berth.
  const managed = known.filter(({ state }) => state !== 'enroll').map(({ host }) => host);
  const missing = managed.filter((host) => unidentified.has(host) && !taken.has(host));
  const remembered = new Set(known.filter(isKept).map(({ host }) => host));
  const doubts = new Map<FoundMachine, string>();
  for (const machine of machines) {
    const given = names.get(machine);
    if (given !== undefined && (remembered.has(given) || !unidentified.has(given))) continue;
    if (machine.mayBeKnown && missing.length > 0) doubts.set(machine, doubtOf(machine, missing));
    const id = machine.id.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
    const options = [
      id,
      `${id}-${machine.systemId
        .replace(/^serial /, '')
        .replace(/[^A-Za-z0-9]+/g, '')
        .slice(0, 12)}`,
    ];
    for (const name of options) if (isHostName(name) && !remembered.has(name)) take(machine, name);
    // Two systems with one id and no other sign: only their paths distinguish them.
    take(
      machine,
      `${id}${machine.link}`
        .replace(/[^A-Za-z0-9]+/g, '-')
        .replace(/^-+/, '')
        .slice(0, 200),
    );
  }
  return machines.map((machine) => ({ name: names.get(machine) as string, doubt: doubts.get(machine) ?? '' }));
}

/** True when a name is its machine's; a machine in doubt may get it again. */
function isKept({ state, systemId, systemLink }: KnownMachine): boolean {
  return state !== 'enroll' || systemId !== '' || systemLink !== '';
}

function doubtOf({ link, hostName }: FoundMachine, missing: readonly string[]): string {
  const shown = missing.slice(0, MOST_NAMES).join(', ') + (missing.length > MOST_NAMES ? ', …' : '');
  const calls = hostName === '' ? 'could not be read' : `calls itself ${hostName}`;
  return `${link} ${calls} and may be one of the nodes ${shown}, which an older version knew by their HostName alone, and which no one machine shows: set its HostName to its node's name and restart the agents, or remove nodes that are gone (berth host delete)`;
}

const MOST_NAMES = 5;
