import { isHostName } from '#libs/domain/names';
import type { KnownMachine } from './node-source';

/** A machine as its service shows it. */
export interface FoundMachine {
  readonly link: string;
  readonly id: string;
  /** As `NodeRecord.systemId`; '' when it is not known. */
  readonly systemId: string;
  /** What runs there calls it so, or its `Id` where nothing does: the name by which an older version knew it. '' when it was not read. */
  readonly hostName: string;
  /** It has a mark of Berth's, or could not be read: nothing says that it is new. */
  readonly mayBeKnown?: boolean;
}

export interface NamedMachine {
  readonly name: string;
  /** Why it may be a node that has another name; '' for none. Then nothing is ordered of it, and its name is not kept. */
  readonly doubt: string;
}

/**
 * Names the machines of a service, in order.
 *
 * The naive name is the `HostName` that a system shows. Whoever runs on it can set that: a machine that is renamed would be enrolled as a
 * new one, and the instance on it be cleaned away. So a machine is known again by its uuid or serial number, and by where it stands only while
 * nothing else is known of it. One in whose place another stands now keeps its name, so that the other is refused under it. A machine that
 * is seen for the first time is called by the `Id` of its system. Nodes that an older version called by their `HostName` stay called so, where
 * one machine alone shows that name. While nobody shows the name of such a node, a machine that Berth has managed may be it.
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
  // By the strongest evidence first, so that no machine takes a name that another has a better claim to.
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
  // Of a node in `enroll` nothing runs under Berth.
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
    // Two systems of one id and no other sign: where they stand is all that tells them apart.
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

/** True when a name is its machine's; one that was in doubt may be called so again. */
function isKept({ state, systemId, systemLink }: KnownMachine): boolean {
  return state !== 'enroll' || systemId !== '' || systemLink !== '';
}

function doubtOf({ link, hostName }: FoundMachine, missing: readonly string[]): string {
  const shown = missing.slice(0, MOST_NAMES).join(', ') + (missing.length > MOST_NAMES ? ', …' : '');
  const calls = hostName === '' ? 'could not be read' : `calls itself ${hostName}`;
  return `${link} ${calls} and may be one of the nodes ${shown}, which an older version knew by their HostName alone, and which no one machine shows: set its HostName to its node's name and restart the agents, or remove nodes that are gone (berth host delete)`;
}

const MOST_NAMES = 5;
