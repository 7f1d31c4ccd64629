import type { Client } from '#libs/client/client';
import type { Diagnosis, HostVerdict } from '#libs/contracts/diagnosis';
import { MAX_PAGE } from '#libs/contracts/limits';
import { invalidArgument } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Explanation, FilterRefusals, Verdict } from '../api/explain';

/** Limit of the best hosts that are explained. */
const MOST_HOSTS = 25;

interface ExplainParts {
  readonly client: Client;
  readonly mirror: Pick<PlacementView, 'aggregates'>;
}

/**
 * Asks a scheduler to explain the request in a query: `resources=VCPU:2,MEMORY_MB:4096`, `flavor`, `required`,
 * `forbidden` and `preferred` traits, `zone`, `aggregate`, `project`, `group` (a stored one), `host` (to explain this one alone),
 * `refused` (a filter or a reason: to list the hosts that it refuses), `extra=key:value`, `preempt=yes` with `priority`.
 *
 * @throws BerthError `invalid_argument / bad_query`; the scheduler's errors.
 */
export async function explain({ client, mirror }: ExplainParts, query: URLSearchParams): Promise<Explanation> {
  const flavor = query.get('flavor') ?? '';
  const group = query.get('group') ?? '';
  const spec = {
    projectId: query.get('project') || 'explain',
    userId: 'console',
    ...(flavor === '' ? { resources: amountsIn(query.get('resources')) } : { flavor: { name: flavor, version: 0 } }),
    requiredTraits: wordsIn(query.get('required')),
    forbiddenTraits: wordsIn(query.get('forbidden')),
    preferredTraits: wordsIn(query.get('preferred')),
    availabilityZone: query.get('zone') || undefined,
    memberOf: aggregatesIn(mirror, query.get('aggregate')),
    extraSpecs: pairsIn(query.get('extra')),
    ...(group === '' ? {} : { group: { id: group, policy: undefined, maxPerHost: 0 } }),
  } satisfies Partial<RequestSpec>;
  const host = query.get('host') ?? '';
  const priority = Number(query.get('priority') ?? 0);
  const mayPreempt = query.get('preempt') === 'yes';
  const refusedBy = query.get('refused') ?? '';
  const limit = refusedBy === '' ? MOST_HOSTS : MAX_PAGE;
  const options = { host, refusedBy, limit, priority: Number.isInteger(priority) ? priority : 0, mayPreempt };
  const { diagnosis, hosts, relaxations, conflict, preemption, zones = [] } = await client.explain(spec, options);
  return {
    considered: diagnosis.hostsConsidered,
    passed: diagnosis.hostsPassed,
    summary: diagnosis.summary,
    isImpossible: isImpossible(diagnosis),
    filters: refusalsOf(diagnosis),
    hosts: hosts.map(verdictOf),
    relaxations: relaxations.map(({ sentence, hosts: count }) => ({ sentence, hosts: count })),
    conflict,
    zones,
    preemption: preemption && { host: preemption.host, victims: preemption.victims.map((one) => one.instanceUuid) },
  };
}

/** Tells a request that can never fit from one that finds the fleet full. */
export function isImpossible({ impossible = [] }: Diagnosis): boolean {
  return impossible.length > 0;
}

/** The query that asks about a request as far as a query can tell it. */
export function explainQuery(spec: RequestSpec): string {
  const pairs = (values: Readonly<Record<string, string | number>>, sign: string) =>
    Object.entries(values)
      .map(([name, value]) => `${name}${sign}${value}`)
      .join();
  const parts = {
    flavor: spec.flavor?.name ?? '',
    resources: spec.flavor === undefined ? pairs(spec.resources, ':') : '',
    required: spec.requiredTraits.join(),
    forbidden: spec.forbiddenTraits.join(),
    preferred: spec.preferredTraits.join(),
    zone: spec.availabilityZone ?? '',
    extra: spec.flavor === undefined ? pairs(spec.extraSpecs, '=') : '',
    project: spec.projectId,
  };
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== '')).toString();
}

/** The number of hosts that each filter refused, with reasons. */
export function refusalsOf({ filters }: Diagnosis): readonly FilterRefusals[] {
  return filters.map(({ filter, refused, reasons }) => {
    const counts = Object.entries(reasons).map(([name, count]) => ({ name, count }));
    return { filter, refused, reasons: counts.sort((a, b) => b.count - a.count) };
  });
}

export function verdictOf({ host, passed, refusals, weight, weights }: HostVerdict): Verdict {
  return { host, passed, refusals, weight, weights };
}

function wordsIn(text: string | null): string[] {
  return (text ?? '').split(/[\s,]+/).filter((word) => word !== '');
}

/** An aggregate by its name, as what one must be a member of. */
function aggregatesIn(mirror: ExplainParts['mirror'], name: string | null): string[][] {
  if (name === null || name === '') return [];
  for (const aggregate of mirror.aggregates()) if (aggregate.name === name) return [[aggregate.uuid]];
  throw badQuery('aggregate', `there is no aggregate '${name}'`);
}

function pairsIn(text: string | null): Record<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^\s*(.+?)=(.*?)\s*$/.exec(pair) ?? [];
      if (key === undefined || value === undefined) throw badQuery('extra', `'${pair}' is not key=value`);
      return [key, value];
    }),
  );
}

function amountsIn(text: string | null): Record<string, number> {
  return Object.fromEntries(
    wordsIn(text).map((word) => {
      const [, name, amount] = /^([A-Z0-9_]+):(\d+)$/.exec(word) ?? [];
      if (name === undefined || Number(amount) === 0) throw badQuery('resources', `'${word}' is not CLASS:AMOUNT`);
      return [name, Number(amount)];
    }),
  );
}

function badQuery(field: string, message: string) {
  return invalidArgument('bad_query', `${field}: ${message}`, field);
}
