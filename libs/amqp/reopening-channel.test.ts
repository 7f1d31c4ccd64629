import { EventEmitter } from 'node:events';
import type { Channel, ChannelModel } from 'amqplib';
import { seededRandom } from '../domain/random';
import { silentLog } from '../runtime/log';
import { createMetrics } from '../runtime/metrics';
import { fakeClock } from '../testing/fake-clock';
import type { Connection } from './connection';
import { ReopeningChannel } from './reopening-channel';

const NEVER = new Promise<never>(() => {});
const model = {} as ChannelModel;
const connection = { holds: () => true, remove() {} } as unknown as Connection;

/** One that a broker which does not answer never agrees to close. */
function aChannel(): Channel {
  return Object.assign(new EventEmitter(), { close: () => NEVER }) as unknown as Channel;
}

/** A channel that is attached, of a broker that answers `create` and `prepare` so, one after the other. */
function attached(created: readonly Promise<Channel>[], prepared: readonly Promise<void>[]) {
  const clock = fakeClock();
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const [creates, prepares] = [created.values(), prepared.values()];
  const role = {
    name: 'test',
    create: () => creates.next().value as Promise<Channel>,
    prepare: () => prepares.next().value as Promise<void>,
    lost() {},
  };
  const reopening = new ReopeningChannel(connection, role, around);
  return { reopening, clock, attaching: reopening.attach(model) };
}

it.each([
  ['opening a channel', [NEVER, Promise.resolve(aChannel())], [Promise.resolve()]],
  ['what a channel asks first', [Promise.resolve(aChannel()), Promise.resolve(aChannel())], [NEVER, Promise.resolve()]],
])('keeps nobody waiting for a broker that does not answer %s, and asks again', async (_, created, prepared) => {
  const { reopening, clock, attaching } = attached(created, prepared);
  await clock.advance(9_000);
  expect(reopening.channel).toBeUndefined();
  await clock.advance(1_000);
  await attaching;
  await clock.advance(1_000);
  expect(reopening.channel).toBe(await created[1]);
});
