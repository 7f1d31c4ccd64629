import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import type { Bus, CallOptions, OutgoingMessage } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { Client } from '#libs/client/client';
import { MESSAGE_RULES } from '#libs/contracts/message-rules';
import { type InstanceOperation, operateInstanceMethod } from '#libs/contracts/operations';
import { type QueueAddress, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type EmbeddedFleet, startEmbedded } from './fleet';

/* A tenant sends all that a tenant may, about another's too, and every byte that comes back is searched for what is the other's. */

const TENANT = 'curious';
const OTHER = 'planted-project';
/** An amount that occurs nowhere else. */
const OTHERS_MEMORY = 7_411;
const clock = systemClock();

let fleet: EmbeddedFleet;
/** Everything sent to the tenant: as bytes, and as its client reads it. */
const told: string[] = [];
/** The types of its messages. */
const sent = new Set<string>();
let tenant: Client;
let heard: Bus;
let others: { readonly requestId: string; readonly instanceUuids: readonly string[] };

beforeAll(async () => {
  const context = {
    env: { BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000' },
    clock,
    random: systemRandom,
    interrupted: new AbortController().signal,
  };
  const shape = { VCPU: 4, MEMORY_MB: 16_384 };
  fleet = await startEmbedded(context, {
    schedulers: 1,
    conductors: 1,
    hosts: 3,
    shape,
    failureRate: 0,
    latencyMs: 10,
  });
  const { client } = fleet;
  await client.setQuota(OTHER, { limits: { MEMORY_MB: 20_000 }, cohort: 'planted-cohort' });
  await client.setQuota(TENANT, { limits: { MEMORY_MB: 2_000 }, cohort: 'planted-cohort' });
  await client.aggregates.create('planted-aggregate', { filter_tenant_id: OTHER });
  await client.aggregates.addHost('planted-aggregate', 'host-3');
  await client.groups.create({
    projectId: OTHER,
    name: 'planted-group',
    policy: 'anti-affinity',
    maxPerHost: 0,
    spread: undefined,
    metadata: { planted: 'planted-metadata' },
  });
  const spec = {
    projectId: OTHER,
    userId: 'planted-user',
    group: { id: 'planted-group', policy: undefined, maxPerHost: 0, spread: undefined },
  };
  const name = 'planted-name';
  const resources = { VCPU: 3, MEMORY_MB: OTHERS_MEMORY };
  const built = await client.buildAndWait({ spec: { ...spec, resources }, name, count: 2 }, { timeoutMs: 8_000 });
  others = { requestId: built[0]?.requestId ?? '', instanceUuids: built.map(({ instanceUuid }) => instanceUuid) };
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(busOptions, {});
  const bus = new MemoryBus(fleet.broker, { kind: 'project', projectId: TENANT }, config, around);
  for (const pattern of [`instance.*.${TENANT}.#`, `request.refused.${TENANT}`])
    await bus.subscribe(pattern, (_topic, { body }) => void told.push(textOf(body)));
  heard = overheard(bus);
  tenant = new Client(heard, { clock, random: systemRandom, timeoutMs: 3_000, retryForMs: 0, projectId: TENANT });
});
afterAll(async () => {
  await tenant.close();
  await fleet.close();
});

/** Bytes as text, one character each. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function overheard(bus: Bus): Bus {
  return new Proxy(bus, {
    get(target, key) {
      if (key === 'call') {
        return async (address: QueueAddress, message: OutgoingMessage, options: CallOptions) => {
          sent.add(message.type);
          const body = await target.call(address, message, options);
          told.push(textOf(body));
          return body;
        };
      }
      if (key === 'cast') {
        return async (address: QueueAddress, message: OutgoingMessage, ...rest: []) => {
          sent.add(message.type);
          return target.cast(address, message, ...rest);
        };
      }
      const value = Reflect.get(target, key) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function asks(asked: Promise<unknown>): Promise<string> {
  const said = await asked.then(
    (answer) => ({ answer }),
    (thrown: unknown) => {
      const { code, reason, message, details } = BerthError.from(thrown);
      return { code, reason, message, details };
    },
  );
  const text = JSON.stringify(said);
  told.push(text);
  return text;
}

it("a tenant hears nothing of another project's in all that it may send", async () => {
  const [victim = '', neighbour = ''] = others.instanceUuids;
  const say = async (_label: string, asked: Promise<unknown>) => await asks(asked);
  const own = { projectId: TENANT, userId: 'me' };
  const small = { VCPU: 1, MEMORY_MB: 500 };
  const build = (fields = {}, more = {}) =>
    tenant.buildAndWait({ spec: { ...own, resources: small, ...fields }, ...more }, { timeoutMs: 6_000 });
  const explain = (fields = {}, more = {}) => tenant.explain({ ...own, resources: small, ...fields }, more);
  await say('build', build());
  await say('build foreign uuid', build({}, { instanceUuids: [victim] }));
  await say('build twin uuid', build({}, { instanceUuids: [migrationUuidOf(victim)] }));
  await say('build request id', build({}, { requestId: others.requestId }));
  await say('build other project', build({ projectId: OTHER }));
  await say('build group', build({ group: { id: 'planted-group' } }));
  await say('build sameHost', build({ sameHost: [victim] }));
  await say('build differentHost', build({ differentHost: [victim] }));
  await say('build cohort', build({ resources: { VCPU: 1, MEMORY_MB: 7_500 } }));
  await say('build cohort2', build({ resources: { VCPU: 1, MEMORY_MB: 3_000 } }, { count: 3 }));
  await say('build host-3', build({ forceHosts: ['host-3'] }));
  for (const host of ['', 'host-1', 'host-2', 'host-3'])
    for (const mayPreempt of [false, true])
      await say(
        `explain ${host} ${mayPreempt}`,
        explain({ resources: { VCPU: 4, MEMORY_MB: 500 } }, { host, limit: 10, priority: 10, mayPreempt }),
      );
  await say('explain cohort', explain({ resources: { VCPU: 1, MEMORY_MB: 7_500 } }));
  await say('explain other', explain({ projectId: OTHER }));
  await say('explain same', explain({ sameHost: [victim] }));
  await say('explain group', explain({ group: { id: 'planted-group' } }));
  await say('explainInstance', tenant.explainInstance(victim));
  await say('instances', tenant.instances());
  for (const { uuid } of await tenant.instances()) await say('explainInstance own', tenant.explainInstance(uuid));
  for (const query of [
    { instanceUuid: victim },
    { projectId: OTHER },
    { host: 'host-3' },
    { requestId: others.requestId },
  ])
    await say('instances', tenant.instances(query));
  for (const projectId of [OTHER, '', TENANT]) {
    await say('groups', tenant.groups.list(projectId));
    await say('quotas', tenant.quotas(projectId));
    await say('usage', tenant.usage(0, projectId));
    await say('fair shares', tenant.fairShares(projectId));
  }
  await say('group show', tenant.groups.show(TENANT, 'planted-group'));
  await say('group show', tenant.groups.show(OTHER, 'planted-group'));
  await say('group delete', tenant.groups.delete(OTHER, 'planted-group'));
  await say('group delete', tenant.groups.delete(TENANT, 'planted-group'));
  await say(
    'group create',
    tenant.groups.create({
      projectId: TENANT,
      name: 'planted-group',
      policy: 'affinity',
      maxPerHost: 0,
      spread: undefined,
      metadata: {},
    }),
  );
  await say('flavors', tenant.flavors());
  await say('zones', tenant.aggregates.zones());
  await say('zones', tenant.aggregates.zones('nova'));
  for (const wish of [
    'stop',
    'start',
    'evacuate',
    'shelve',
    'unshelve',
    'resize',
    'migrate',
    'live_migrate',
    'confirm',
    'revert',
  ] as InstanceOperation[]) {
    await say(
      `operate ${wish}`,
      callMethod(
        { bus: heard, queue: RPC_CONDUCTOR },
        operateInstanceMethod,
        { instanceUuid: victim, operation: wish, version: 0 },
        { timeoutMs: 3_000 },
      ),
    );
  }
  await say('terminate', tenant.terminateAndWait(victim, { timeoutMs: 3_000 }));
  await say(
    'preempting build',
    build(
      { resources: { VCPU: 4, MEMORY_MB: 600 } },
      { count: 2, admission: { priority: 10, mayPreempt: true, waitForCapacityMs: 3_000 } },
    ),
  );
  await say('instances', tenant.instances());
  const ofTenants = [...MESSAGE_RULES].filter(([, { maxBytes }]) => maxBytes.project !== undefined);
  const inOthers = ['berth.internal.v1.Frame', 'berth.scheduler.v1.RequestSpec'];
  expect(
    ofTenants
      .map(([type]) => type)
      .filter((type) => !sent.has(type))
      .sort(),
  ).toEqual(inOthers);
  // Its own words may come back to it.
  const unnamed = [
    'planted-user',
    'planted-name',
    'planted-metadata',
    'planted-aggregate',
    'belongs to another project',
    ...[0, 500, 1_000].map((less) => String(2 * OTHERS_MEMORY + less)),
    String(OTHERS_MEMORY),
    neighbour,
  ];
  expect(told.filter((text) => unnamed.some((secret) => text.includes(secret)))).toEqual([]);
}, 60_000);
