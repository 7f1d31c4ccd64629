import {
  type Arbitrary,
  array,
  boolean,
  constant,
  constantFrom,
  dictionary,
  integer,
  oneof,
  option,
  record,
  subarray,
  tuple,
} from 'fast-check';
import { type Inventory, inventory } from '../../domain/inventory';
import { DEFAULT_PROJECT } from '../../domain/quotas/quota';
import type { GroupPolicy } from '../../domain/server-group';
import { nestedProviderName, nestedProviderUuid } from '../../placement/port/nested-provider';
import type {
  Command,
  CommitResult,
  ConsumerGuard,
  ConsumerWrite,
  HostReport,
  NestedReport,
  PlacementStore,
  ReportResult,
  WriteQuota,
} from '../../placement/port/placement-store';
import { AT_MS, aReport } from './placement';

/*
 * Random commands and reports on a small world, where most things meet: five providers (two of them hosts' roots, with up to
 * three nested in them by their agents), six consumers, four classes, three traits, two groups, three
 * host aggregates.
 */

const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const providers = constantFrom(
  ...[1, 2, 3, 4, 5].map(uuid),
  ...['x', 'y'].map((name) => nestedProviderUuid(uuid(1), name)),
);
const consumers = constantFrom(...[1, 2, 3, 4, 5, 6].map((n) => uuid(n).replace('0000-4', '1111-4')));
const classes = constantFrom('VCPU', 'DISK_GB', 'CUSTOM_GOLD', 'CUSTOM_TIN');
const traits = subarray(['HW_CPU_X86_AVX', 'CUSTOM_FAST', 'CUSTOM_QUIET']);
const generations = option(integer({ min: 0, max: 6 }), { nil: undefined });
const hosts = constantFrom('host-1', 'host-2');
// Includes some of the next days: projects' usage is counted by day.
const times = oneof(
  { weight: 4, arbitrary: integer({ min: 0, max: 50_000 }) },
  { weight: 1, arbitrary: integer({ min: 0, max: 300_000_000 }) },
).map((n) => AT_MS + n);

const aggregates = constantFrom(...[1, 2, 3].map((n) => uuid(n).replace('0000-4', '2222-4')));
const metadata = dictionary(constantFrom('availability_zone', 'rack'), constantFrom('east', 'west'), {
  maxKeys: 2,
  noNullPrototype: true,
});

const inventoryOf: Arbitrary<Inventory> = record({
  total: integer({ min: 1, max: 12 }),
  allocationRatio: constantFrom(0.1, 0.5, 1, 1.1, 1.5, 16),
  stepSize: constantFrom(1, 1, 1, 2),
  maxUnit: constantFrom(4, 100),
}).map(({ total, ...rest }) => inventory(total, rest));
const inventories = dictionary(classes, inventoryOf, { maxKeys: 3, noNullPrototype: true });
const resources = dictionary(classes, integer({ min: 1, max: 5 }), { maxKeys: 2, noNullPrototype: true });

const guards: Arbitrary<ConsumerGuard> = oneof(
  { weight: 6, arbitrary: constant({ kind: 'any' } as const) },
  { weight: 1, arbitrary: constant({ kind: 'absent' } as const) },
  {
    weight: 2,
    arbitrary: integer({ min: 1, max: 3 }).map((generation) => ({ kind: 'generation', generation }) as const),
  },
  { weight: 2, arbitrary: claimTokens().map((claimToken) => ({ kind: 'claim', claimToken }) as const) },
);

/** Claim tokens start at the first commit's time, in microseconds, and rise by one. */
function claimTokens(): Arbitrary<number> {
  return integer({ min: 0, max: 40 }).map((n) => AT_MS * 1_000 + n);
}

const groups = option(
  record({
    group: record({
      id: constantFrom('g1', 'g2'),
      policy: constantFrom<GroupPolicy>('affinity', 'anti-affinity', 'soft-affinity'),
      maxPerHost: integer({ min: 0, max: 2 }),
      spread: constantFrom(undefined, undefined, { by: 'rack', maxSkew: 1 }, { by: 'a zoné', maxSkew: 2 }),
    }).chain((group) => {
      if (group.spread) return constantFrom(group);
      return constantFrom(group, group, { ...group, within: { levels: ['block', 'rack'], required: 2 } });
    }),
    host: hosts,
    spread: constantFrom(
      undefined,
      { domain: 'r1', among: ['r1', 'r2'] },
      { domain: 'r 2', among: ['r1', 'r 2'] },
      { domain: 'ü', among: ['ü'] },
    ),
  }),
  { nil: undefined },
);

const projects = constantFrom('project-1', 'project-1', 'project-ü', 'a project');
const limits = dictionary(constantFrom('VCPU', 'CUSTOM_GOLD', 'instances'), integer({ min: -1, max: 12 }), {
  maxKeys: 2,
  noNullPrototype: true,
});

const consumerWrites: Arbitrary<ConsumerWrite> = record({
  uuid: consumers,
  allocations: dictionary(providers, resources, { maxKeys: 2, noNullPrototype: true }),
  expect: guards,
  group: groups,
  owner: constantFrom('conductor', 'conductor', 'conductor', 'api'),
  projectId: projects,
  consumerType: constantFrom('INSTANCE', undefined),
  priority: constantFrom(0, 0, 5),
  counted: constantFrom(undefined, undefined, undefined, undefined, {}, { VCPU: 1 }),
}).map(({ group, counted, ...rest }) => ({
  userId: 'user-1',
  mappings: {},
  ...rest,
  ...(group ? { group } : {}),
  ...(counted ? { counted } : {}),
}));
const writesOf = (maxLength: number) =>
  array(consumerWrites, { maxLength }).map((writes) => [...new Map(writes.map((w) => [w.uuid, w])).values()]);

/** Names of providers nested in a host: each below the root or an earlier one. */
const NESTED = ['x', 'y', 'z'];

type Plain<C> = C extends { readonly atMs: number } ? Omit<C, 'atMs'> : never;

const actions: Arbitrary<Plain<Command> | Plain<HostReport>> = oneof(
  {
    weight: 8,
    arbitrary: record({
      kind: constant('write_allocations' as const),
      consumers: writesOf(3),
      force: constantFrom(false, false, false, true),
      withinTotal: constantFrom(false, true),
      withinQuota: boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('write_quota' as const),
      projectId: projects,
      version: constantFrom(0, 0, 0, AT_MS),
      limits,
      borrowLimits: constant({}),
      cohort: constantFrom(undefined, 'c2', ''),
      unset: constantFrom<WriteQuota['unset']>([], [], ['VCPU'], 'all'),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('write_quota' as const),
      projectId: projects,
      version: constant(0),
      limits,
      borrowLimits: constantFrom({}, { VCPU: 2 }, { CUSTOM_GOLD: 0 }),
      lendLimits: constantFrom({}, { VCPU: 1 }, { VCPU: 0, CUSTOM_GOLD: 9 }),
      cohort: constant('c 1'),
      unset: constant([]),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('write_quota' as const),
      projectId: constant(DEFAULT_PROJECT),
      version: constant(0),
      limits,
      borrowLimits: constant({}),
      cohort: constant(undefined),
      unset: constantFrom<WriteQuota['unset']>([], [], ['VCPU'], 'all'),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('settle_project' as const),
      projectId: projects,
      keepDays: integer({ min: 0, max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      kind: constant('release_claim' as const),
      consumerUuid: consumers,
      claimToken: claimTokens(),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('write_lease' as const),
      lease: record({
        kind: constantFrom('nomination' as const, 'nomination' as const, 'alternates' as const),
        consumerUuid: consumers,
        projectId: projects,
        priority: constantFrom(0, 5, 9),
        untilMs: constantFrom(AT_MS - 1, AT_MS + 60_000),
        places: array(
          record({
            rootUuid: providers,
            allocations: dictionary(providers, resources, { maxKeys: 2, noNullPrototype: true }),
            likelihood: constant(1),
          }),
          { maxLength: 2 },
        ),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: record({ kind: constant('end_leases' as const), consumerUuids: array(consumers, { maxLength: 2 }) }),
  },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('put_provider' as const),
      uuid: providers,
      name: constantFrom('a', 'b', 'c', 'd', 'e'),
      parentUuid: option(providers, { nil: undefined }),
      mode: constantFrom('create' as const, 'update' as const),
    }),
  },
  { weight: 1, arbitrary: record({ kind: constant('delete_provider' as const), uuid: providers }) },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('write_inventories' as const),
      providerUuid: providers,
      generation: generations,
      inventories,
      replace: boolean(),
      remove: array(classes, { maxLength: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('write_traits' as const),
      providerUuid: providers,
      generation: generations,
      traits,
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('write_aggregates' as const),
      providerUuid: providers,
      generation: generations,
      aggregates: subarray(['agg-1', 'agg-2']),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      kind: constant('reshape' as const),
      inventories: array(record({ providerUuid: providers, generation: integer({ min: 0, max: 4 }), inventories }), {
        maxLength: 2,
      }),
      consumers: writesOf(2),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('raise_generations' as const),
      providers: dictionary(providers, integer({ min: 0, max: 9 }), { maxKeys: 2 }),
      consumers: dictionary(consumers, integer({ min: 0, max: 9 }), { maxKeys: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      kind: constantFrom('create_name' as const, 'delete_name' as const),
      catalogue: constantFrom('resource_class' as const, 'trait' as const),
      name: constantFrom('CUSTOM_GOLD', 'CUSTOM_TIN', 'CUSTOM_FAST', 'CUSTOM_QUIET'),
    }),
  },
  { weight: 1, arbitrary: record({ kind: constant('rename_class' as const), name: classes, newName: classes }) },
  {
    weight: 3,
    arbitrary: record({
      n: integer({ min: 1, max: 2 }),
      sequence: integer({ min: 1, max: 9 }),
      inventories,
      traits,
      ioOps: integer({ min: 0, max: 1 }),
      agentRun: constantFrom('run-1', 'run-2'),
      nested: subarray(NESTED).chain((some) => tuple(...some.map((one) => nestedOf(one)))),
    }).map(({ n, nested, ...rest }) => {
      const [host, providerUuid] = [`host-${n}`, uuid(n)];
      return aReport({ ...rest, host, providerUuid, nested: nestedReports(host, providerUuid, nested) });
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('set_host_enabled' as const),
      host: hosts,
      enabled: boolean(),
      reason: constantFrom('', 'x'),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constantFrom(
        'add_aggregate_host' as const,
        'add_aggregate_host' as const,
        'remove_aggregate_host' as const,
      ),
      uuid: aggregates,
      host: hosts,
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      kind: constant('create_aggregate' as const),
      uuid: aggregates,
      name: constantFrom('a', 'b', 'c'),
      metadata,
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('update_aggregate' as const),
      uuid: aggregates,
      name: option(constantFrom('a', 'b', 'c'), { nil: undefined }),
      set: metadata,
      unset: subarray(['availability_zone', 'rack'], { maxLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: record({ kind: constant('delete_aggregate' as const), uuid: aggregates }) },
  {
    weight: 1,
    arbitrary: record({
      kind: constantFrom('create_group' as const),
      projectId: constantFrom('project-1', 'project ü'),
      name: constantFrom('g1', 'g2'),
      policy: constantFrom<GroupPolicy>('affinity', 'soft-affinity'),
      maxPerHost: constant(1),
      metadata,
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('delete_group' as const),
      projectId: constantFrom('project-1', 'project ü'),
      name: constantFrom('g1', 'g2'),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('record_failure' as const),
      host: hosts,
      halfLifeMs: constant(10_000),
      startedAtMs: times,
      reason: constantFrom('failed', 'timed_out'),
    }),
  },
  { weight: 1, arbitrary: record({ kind: constant('clear_failures' as const), host: hosts }) },
  {
    weight: 1,
    arbitrary: record({
      kind: constant('sweep_hosts' as const),
      silentSinceMs: times,
      limit: integer({ min: 1, max: 2 }),
    }),
  },
);

function nestedOf(name: string) {
  const parent = constantFrom('', ...NESTED.slice(0, NESTED.indexOf(name)));
  return record({ name: constant(name), parent, inventories, traits });
}

function nestedReports(host: string, rootUuid: string, nested: readonly Nested[]): NestedReport[] {
  return nested.map(({ name, parent, ...rest }) => {
    const isThere = nested.some((one) => one.name === parent);
    const parentUuid = isThere ? nestedProviderUuid(rootUuid, parent) : rootUuid;
    return { ...rest, uuid: nestedProviderUuid(rootUuid, name), name: nestedProviderName(host, name), parentUuid };
  });
}

type Nested = Pick<NestedReport, 'name' | 'inventories' | 'traits'> & { readonly parent: string };

/** The first commit always has the same time, so that revisions of different stores are equal. */
const FIRST: Command = { kind: 'create_name', catalogue: 'resource_class', name: 'CUSTOM_GOLD', atMs: AT_MS };

/** Any action on a store: a command, or a host's report. */
export type Action = Command | HostReport;

export function run(store: PlacementStore, action: Action): Promise<CommitResult | ReportResult> {
  return 'kind' in action ? store.commit(action) : store.reportHost(action);
}

/** A sequence of actions that starts with one that always commits. */
export function actionSequences(maxLength: number): Arbitrary<readonly Action[]> {
  const timed = record({ action: actions, atMs: times }).map(({ action, atMs }) => ({ ...action, atMs }));
  return array(timed, { minLength: 1, maxLength, size: 'max' }).map((rest) => [FIRST, ...rest]);
}
