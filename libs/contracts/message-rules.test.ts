import { readdirSync } from 'node:fs';
import { frameCodec } from '../bus/amqp/batching/frame';
import type { Codec, Method } from './codec';
import { MESSAGE_RULES, refusalOfMessage } from './message-rules';

const MEGABYTE = 1_048_576;
const TENANT = { kind: 'project', projectId: 'demo' } as const;
const AGENT = { kind: 'agent', host: 'h1', carriesOthers: false } as const;

/** All codecs of messages, and all methods, that the contracts export. */
function exported(): readonly (readonly [name: string, value: unknown])[] {
  const files = readdirSync(__dirname).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  return files.flatMap((file) => Object.entries(require(`./${file}`) as Record<string, unknown>));
}

const isMethod = (value: unknown): value is Method<unknown, unknown> =>
  typeof value === 'object' && value !== null && 'request' in value && 'response' in value;
/** A message by itself; others are exported as parts of those. */
const isCodec = (name: string, value: unknown): value is Codec<unknown> =>
  name.endsWith('Codec') && typeof value === 'object' && value !== null && 'decode' in value;

/** In records or in answers: nobody consumes them as messages. */
const NOT_CONSUMED = [
  'berth.common.v1.Error',
  'berth.conductor.v1.BuildAccepted',
  'berth.scheduler.v1.Decision',
  'berth.scheduler.v1.SelectionList',
  'berth.scheduler.v1.Node',
  'berth.cell.v1.CellSummary',
];

const requests = exported()
  .map(([, value]) => value)
  .filter(isMethod)
  .map(({ request }) => request.type);
const casts = exported().flatMap(([name, value]) => (isCodec(name, value) ? [value.type] : []));
const consumed = [...new Set([...requests, ...casts, frameCodec.type])].filter((type) => !NOT_CONSUMED.includes(type));

it.each(consumed)('bounds %s, and says who may send it', (type) => {
  const rule = MESSAGE_RULES.get(type);
  expect(rule?.maxParts).toBeGreaterThan(0);
  expect(Object.values(rule?.maxBytes ?? {}).length).toBeGreaterThan(0);
});

it('has no rule of a message that nobody consumes', () => {
  expect([...MESSAGE_RULES.keys()].filter((type) => !consumed.includes(type))).toEqual([]);
});

it.each([...MESSAGE_RULES])('refuses %s to whom it is not open, and above its size', (type, { maxBytes }) => {
  const found = [TENANT, AGENT].map((sender) => {
    const most = maxBytes[sender.kind] ?? 0;
    return [most, most + 1].map((bytes) => refusalOfMessage(type, sender, bytes, 4 * MEGABYTE)?.reason);
  });
  const isOpen = [TENANT, AGENT].map(({ kind }) => maxBytes[kind] !== undefined);
  const only = expect.stringMatching(/^(services_only|wrong_host|wrong_project)$/) as string;
  expect(found).toEqual(isOpen.map((its) => (its ? [undefined, 'message_too_large'] : [only, only])));
});

it('judges a name that every object has as any other type that is not known', () => {
  expect(refusalOfMessage('toString', TENANT, 10, MEGABYTE)).toBeUndefined();
  expect(refusalOfMessage('toString', TENANT, 2 * MEGABYTE, MEGABYTE)?.reason).toBe('message_too_large');
});

it('lets no sender that the broker does not vouch for send anything that is consumed', () => {
  const open = consumed.filter((type) => refusalOfMessage(type, { kind: 'nobody' }, 0, MEGABYTE) === undefined);
  expect(open).toEqual([]);
});

/** Their handlers ask nobody who sent them: a rule that opens one opens what it does. */
const OF_OPERATORS = [
  'berth.aggregate.v1.CreateAggregateRequest',
  'berth.aggregate.v1.DeleteAggregateRequest',
  'berth.cell.v1.SetCellStateRequest',
  'berth.compute.v1.HostDiscrepancy',
  'berth.compute.v1.OperateNode',
  'berth.conductor.v1.DeleteHostRequest',
  'berth.conductor.v1.HealAllocationRequest',
  'berth.conductor.v1.ListDoubtsRequest',
  'berth.conductor.v1.MoveInstancesRequest',
  'berth.conductor.v1.ReleaseClaimsRequest',
  'berth.conductor.v1.SettleDoubtRequest',
  'berth.flavor.v1.CreateFlavorRequest',
  'berth.flavor.v1.DeleteFlavorRequest',
  'berth.flavor.v1.UpdateFlavorRequest',
  'berth.quota.v1.SetQuotaRequest',
  'berth.quota.v1.UnsetQuotaRequest',
  'berth.scheduler.v1.ClaimMovesRequest',
  'berth.scheduler.v1.ClearHostFailuresRequest',
  'berth.scheduler.v1.ListHostsRequest',
  'berth.scheduler.v1.ListNodesRequest',
  'berth.scheduler.v1.SelectDestinationsRequest',
  'berth.scheduler.v1.SetDeviceTaintRequest',
  'berth.scheduler.v1.SetHostEnabledRequest',
];

it.each(OF_OPERATORS)('leaves %s to services', (type) => {
  const reasons = [TENANT, AGENT].map((sender) => refusalOfMessage(type, sender, 10, MEGABYTE)?.reason);
  expect(reasons).toEqual(['services_only', 'services_only']);
});
