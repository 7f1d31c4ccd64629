import { invalidArgument } from '#libs/domain/errors';
import { INSTANCE_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { InstanceRow, InstancesPage } from '../api/instances';
import type { Live } from '../live/live';
import { specOf } from './spec-of';

/** Limit of the records that one look reads, and of the rows that a page gets. */
const MOST_READ = 10_000;
const MOST_ROWS = 500;

/**
 * The instances that a page asks for: `state` (several, joined by commas; without it all but deleted ones), `project`,
 * `host`, `zone`, `flavor`, `name` (a part of the name, or the beginning of the uuid), `reason` and `attempt` (of the
 * fault, of a failed attempt), `tried` (attempts at least), `request` (its members), `since` (`10m`, `1h`, `7d`: changed within).
 */
interface InstanceQuery {
  readonly states: readonly InstanceState[];
  readonly project: string;
  readonly host: string;
  readonly zone: string;
  readonly flavor: string;
  readonly name: string;
  readonly reason: string;
  readonly attempt: string;
  readonly tried: number;
  readonly request: string;
  /** 0 for any time. */
  readonly withinMs: number;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws BerthError `invalid_argument / bad_query`. */
export function instanceQuery(query: URLSearchParams): InstanceQuery {
  const text = (name: string) => (query.get(name) ?? '').trim();
  const names = text('state').toLowerCase().split(',').filter(Boolean);
  const unknown = names.find((name) => !INSTANCE_STATES.includes(name as InstanceState));
  if (unknown !== undefined) throw bad('state', `there is no state '${unknown}'`);
  const since = text('since');
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(since) ?? [];
  if (since !== '' && count === undefined) throw bad('since', `'${since}' is not a time such as 10m, 1h or 7d`);
  const tried = text('tried') === '' ? 0 : Number(text('tried'));
  if (!Number.isInteger(tried) || tried < 0) throw bad('tried', `'${text('tried')}' is not a number of attempts`);
  return {
    states: names as InstanceState[],
    project: text('project'),
    host: text('host'),
    zone: text('zone'),
    flavor: text('flavor'),
    name: text('name').toLowerCase(),
    reason: text('reason'),
    attempt: text('attempt'),
    tried,
    request: text('request'),
    withinMs: Number(count ?? 0) * (UNITS[unit] ?? 0),
  };
}

function bad(field: string, message: string) {
  return invalidArgument('bad_query', `${field}: ${message}`, field);
}

/** Reads what the page of instances shows, from the records of the store. */
export async function readInstancesPage(live: Live, query: InstanceQuery): Promise<InstancesPage> {
  const [states, { found, isPartial }] = await Promise.all([live.states(), readRecords(live, query)]);
  const matching = found.filter((instance) => passes(live, query, instance));
  const newest = matching.sort((a, b) => b.updatedAtMs - a.updatedAtMs || (a.uuid < b.uuid ? -1 : 1));
  return {
    states: INSTANCE_STATES.map((name) => ({ name, count: states.get(name) ?? 0 })).filter(({ count }) => count > 0),
    matched: matching.length,
    isPartial,
    read: found.length,
    instances: newest.slice(0, MOST_ROWS).map((instance) => rowOf(live, instance)),
  };
}

/** The records by the store's indexes; further conditions are checked on what was read. */
async function readRecords({ parts: { instances } }: Live, { states, project, host }: InstanceQuery) {
  const about = { ...(project !== '' && { projectId: project }), ...(host !== '' && { host }) };
  const filters = states.length === 0 ? [about] : states.map((state) => ({ ...about, state }));
  const lists = await Promise.all(filters.map((filter) => instances.list(filter, undefined, MOST_READ)));
  // An instance that changes its state meanwhile may be in two lists.
  const found = [...new Map(lists.flat().map((instance) => [instance.uuid, instance])).values()];
  return { found, isPartial: lists.some(({ length }) => length === MOST_READ) };
}

function passes(live: Live, query: InstanceQuery, instance: Instance): boolean {
  const { states, name, reason, attempt, tried, request, withinMs, flavor, zone } = query;
  const { state, attempts, fault, updatedAtMs } = instance;
  return (
    (states.length > 0 || state !== 'deleted') &&
    (withinMs === 0 || updatedAtMs >= live.clock.now() - withinMs) &&
    (name === '' || instance.name.toLowerCase().includes(name) || instance.uuid.startsWith(name)) &&
    (reason === '' || fault?.reason === reason) &&
    (attempt === '' || attempts.some((one) => (one.reason || one.outcome) === attempt)) &&
    attempts.length >= tried &&
    (request === '' || instance.requestId === request) &&
    (flavor === '' || specOf(instance).flavor?.name === flavor) &&
    (zone === '' || zoneOf(live, instance) === zone)
  );
}

function rowOf(live: Live, instance: Instance): InstanceRow {
  const { uuid, name, state, host = '', projectId, attempts, fault, waiting, createdAtMs, updatedAtMs } = instance;
  const spec = specOf(instance);
  return {
    uuid,
    name,
    state,
    host,
    zone: zoneOf(live, instance, spec),
    projectId,
    flavor: spec.flavor?.name ?? '',
    attempts: attempts.length,
    reason: fault === undefined ? (waiting?.waitsFor.join(', ') ?? '') : `${fault.reason}: ${fault.message}`,
    createdAtMs,
    updatedAtMs,
  };
}

function zoneOf(live: Live, instance: Instance, spec?: RequestSpec): string {
  const { host } = instance;
  if (host !== undefined) return live.fleet.rows.get(host)?.zone ?? '';
  return (spec ?? specOf(instance)).availabilityZone ?? '';
}
