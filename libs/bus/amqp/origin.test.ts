import type { ConsumeMessage } from 'amqplib';
import { fakeClock } from '../../testing/fake-clock';
import { deliveryOf } from './message';
import { isPrivateQueueOf, originOf } from './origin';

const UUID = '5b0f0d6e-8a3c-4e9e-9c0a-0123456789ab';
const DEATH = { 'x-death': [{ reason: 'expired' }], 'x-first-death-queue': `private.project.a.${UUID}` };

function messageOf(exchange: string, routingKey: string, properties: object): ConsumeMessage {
  const fields = { exchange, routingKey, deliveryTag: 1, redelivered: false, consumerTag: '' };
  return { content: Buffer.alloc(0), fields, properties } as unknown as ConsumeMessage;
}

it.each([
  ['berth.requests', 'build.requests.conductor'],
  ['berth.reports', 'build.results.scheduler'],
  ['', 'rpc.scheduler'],
])("hears nobody's word in what a tenant has the broker dead-letter to '%s' %s", (exchange, routingKey) => {
  const userId = routingKey.split('.').at(-1);
  const message = (headers: object) => messageOf(exchange, routingKey, { userId, headers });
  expect(originOf(message({})).kind).toBe('service');
  expect(originOf(message(DEATH)).kind).toBe('nobody');
  expect(originOf(message({ ...DEATH, 'berth-user': 'project.b' })).kind).not.toBe('service');
});

it('still knows whose word a dead letter is', () => {
  expect(originOf(messageOf('', 'dead-letters', { userId: 'conductor', headers: DEATH })).kind).toBe('service');
  const tenant = messageOf('berth.requests', 'build.requests.project.a', { userId: 'project.a', headers: DEATH });
  expect(originOf(tenant)).toEqual({ kind: 'project', projectId: 'a' });
});

it.each([
  [`private.project.a.${UUID}`, true],
  [`private.project.a.b.${UUID}`, false],
  ['private.project.a.', false],
  [`private.project.a.${UUID}x`, false],
  [`private.project.a.x.${UUID}`, false],
  [`private.project.ab.${UUID}`, false],
  ['rpc.scheduler', false],
])('answers the tenant a on %s: %s', (replyTo, isAnswered) => {
  expect(isPrivateQueueOf('project.a', replyTo)).toBe(isAnswered);
  const properties = { userId: 'project.a', headers: {}, replyTo };
  const around = { clock: fakeClock(), random: { uuid: () => UUID, next: () => 0 } };
  const delivery = deliveryOf(messageOf('berth.requests', 'rpc.scheduler.project.a', properties), around as never);
  expect(delivery.replyTo).toBe(isAnswered ? replyTo : undefined);
});

it.each([
  ['less than never', { 'berth-deliveries': -1_000, 'x-delivery-count': -1_000 }],
  ['more often', { 'berth-deliveries': 5, 'berth-postponed': true }],
  ['no number of times', { 'berth-deliveries': Number.NaN, 'x-delivery-count': Number.NaN }],
])('believes nobody who says that a message was given out %s', (_, headers) => {
  const around = { clock: fakeClock(), random: { uuid: () => UUID, next: () => 0 } };
  const message = messageOf('berth.requests', 'rpc.scheduler.project.a', { userId: 'project.a', headers });
  message.fields.redelivered = true;
  expect(deliveryOf(message, around as never)).toMatchObject({ deliveries: 2, isGivenBack: true });
});

it('believes no tenant that a message was given out before', () => {
  const around = { clock: fakeClock(), random: { uuid: () => UUID, next: () => 0 } };
  const headers = { 'berth-deliveries': 5, 'x-delivery-count': 5, 'berth-postponed': 1 };
  const message = messageOf('berth.requests', 'build.requests.project.a', { userId: 'project.a', headers });
  const delivery = deliveryOf(message, around as never);
  expect(delivery).toMatchObject({ deliveries: 1, redelivered: false, postponedAtMs: undefined });
});
