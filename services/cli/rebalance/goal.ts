import { createHash } from 'node:crypto';
import type { Client } from '#libs/client/client';
import type { Goal } from '#libs/client/rebalance/find-plan';
import { BerthError } from '#libs/domain/errors';
import { type RequestSpec, requestSpec } from '#libs/domain/request-spec';
import { usageError } from '../failure';

/** Flags of a goal. */
export interface GoalFlags {
  readonly empty: readonly string[];
  readonly emptyRack?: string | undefined;
  readonly emptyIn: readonly (readonly [string, string])[];
  readonly admit: readonly (readonly [string, number])[];
  readonly admitFlavor?: string | undefined;
  readonly admitTrait: readonly string[];
  readonly admitZone?: string | undefined;
  readonly admitProject: string;
  readonly evenOut: boolean;
  readonly defragment?: number | undefined;
}

/** Flags that name no goal. */
export const NO_GOAL: GoalFlags = {
  empty: [],
  emptyIn: [],
  admit: [],
  admitTrait: [],
  admitProject: 'default',
  evenOut: false,
};

/** True when the flags name any goal. */
export function hasGoal(flags: GoalFlags): boolean {
  return kindsOf(flags).length > 0;
}

/**
 * The goal of the flags.
 *
 * @throws BerthError `invalid_argument / usage` unless there is exactly one; `not_found / no_such_domain` when the
 *   domain to empty has no hosts.
 */
export async function goalOf(client: Pick<Client, 'hosts' | 'aggregates'>, flags: GoalFlags): Promise<Goal> {
  const inDomains = kindOf(flags) === 'empty' ? await hostsIn(client, domainsOf(flags)) : [];
  return goalWith([...new Set([...flags.empty, ...inDomains])], flags);
}

/**
 * The goal of the flags, where the hosts to empty are known.
 *
 * @param wrong  the error unless there is exactly one goal
 */
export function goalWith(hosts: readonly string[], flags: GoalFlags, wrong = wrongUse): Goal {
  switch (kindOf(flags, wrong)) {
    case 'even-out':
      return { kind: 'even_out' };
    case 'defragment':
      return { kind: 'defragment', most: flags.defragment ?? 0 };
    case 'admit':
      return { kind: 'admit', spec: admittedBy(flags) };
    case 'empty':
      return { kind: 'empty', hosts };
  }
}

/**
 * The name of the plan for a goal: equal for the same flags in any order, so that an interrupted run continues with the
 * same flags, and never with others. `empty-1b4f0e98`.
 *
 * @throws BerthError `invalid_argument / usage` unless there is exactly one goal.
 */
export function planNameOf(flags: GoalFlags): string {
  const kind = kindOf(flags);
  const lists = [flags.empty, domainsOf(flags), flags.admit, flags.admitTrait];
  const said = [...lists.map((all) => all.map((one) => JSON.stringify(one)).sort()), ...singles(flags)];
  return `${kind}-${createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 8)}`;
}

/** Not exactly one action, or not exactly one goal. */
export function wrongUse(): BerthError {
  return usageError('say --plan or --apply and one goal, or --undo', 'berth rebalance --plan --empty host-7');
}

/** The request spec of the instance to admit. */
function admittedBy(flags: GoalFlags): RequestSpec {
  const { admit, admitFlavor, admitTrait, admitZone, admitProject } = flags;
  if (admitFlavor !== undefined && admit.length > 0) {
    throw usageError('a flavor says the amounts', 'take --admit or --admit-flavor out');
  }
  return requestSpec(Object.fromEntries(admit), {
    projectId: admitProject,
    userId: 'operator',
    flavor: admitFlavor === undefined ? undefined : { name: admitFlavor, version: 0 },
    requiredTraits: admitTrait,
    availabilityZone: admitZone,
  });
}

function singles({ admitFlavor = '', admitZone = '', admitProject, defragment }: GoalFlags): readonly string[] {
  const most = defragment === undefined ? [] : [String(defragment)];
  return [admitFlavor, admitZone, admitProject, ...most];
}

type Kind = 'empty' | 'admit' | 'even-out' | 'defragment';

function kindOf(flags: GoalFlags, wrong = wrongUse): Kind {
  const [kind, another] = kindsOf(flags);
  if (kind === undefined || another !== undefined) throw wrong();
  return kind;
}

function kindsOf(flags: GoalFlags): readonly Kind[] {
  const { empty, admit, admitFlavor, evenOut, defragment } = flags;
  const isEmptying = empty.length > 0 || domainsOf(flags).length > 0;
  return [
    ...(isEmptying ? (['empty'] as const) : []),
    ...(admit.length > 0 || admitFlavor !== undefined ? (['admit'] as const) : []),
    ...(evenOut ? (['even-out'] as const) : []),
    ...(defragment === undefined ? [] : (['defragment'] as const)),
  ];
}

function domainsOf({ emptyRack, emptyIn }: GoalFlags): GoalFlags['emptyIn'] {
  return emptyRack === undefined ? emptyIn : [...emptyIn, ['rack', emptyRack]];
}

async function hostsIn(
  client: Pick<Client, 'hosts' | 'aggregates'>,
  domains: GoalFlags['emptyIn'],
): Promise<readonly string[]> {
  if (domains.length === 0) return [];
  const [hosts, aggregates] = await Promise.all([client.hosts(), client.aggregates.list()]);
  return domains.flatMap(([name, value]) => {
    const uuids = aggregates.filter(({ metadata }) => metadata[name] === value).map(({ uuid }) => uuid);
    const found = hosts.filter((host) => host.aggregates.some((uuid) => uuids.includes(uuid))).map(({ host }) => host);
    if (found.length > 0) return found;
    throw new BerthError('not_found', 'no_such_domain', `no host is in an aggregate with ${name}=${value}`);
  });
}
