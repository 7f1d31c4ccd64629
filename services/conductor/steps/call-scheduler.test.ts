import type { Bus } from '#libs/bus/port';
import type { Method } from '#libs/contracts/codec';
import { BerthError } from '#libs/domain/errors';
import type { Conductor } from '../conductor';
import { callScheduler } from './call-scheduler';

const text = {
  type: 'berth.scheduler.v1.NewRequest',
  encode: (value: string) => Buffer.from(value),
  decode: (body: Uint8Array) => Buffer.from(body).toString(),
};
const newMethod: Method<string, string> = {
  request: text,
  response: { ...text, type: 'berth.scheduler.v1.NewResponse' },
};

it.each([
  ['unimplemented', 'unknown_type', { code: 'unavailable', reason: 'scheduler_outdated' }],
  ['not_found', 'no_such_queue', { code: 'unavailable', reason: 'no_scheduler' }],
  ['resource_exhausted', 'queue_full', { code: 'resource_exhausted', reason: 'queue_full' }],
] as const)('asks again later where another scheduler may know better: %s, %s', async (code, reason, expected) => {
  const call: Bus['call'] = () => Promise.reject(new BerthError(code, reason, 'so says a scheduler'));
  const conductor = { bus: { call }, config: { selectTimeoutMs: 1_000 } } as unknown as Conductor;
  await expect(callScheduler(conductor, newMethod, '')).rejects.toMatchObject(expected);
});

it('does not ask again for an answer that was too large', async () => {
  const call: Bus['call'] = () => Promise.reject(new BerthError('resource_exhausted', 'answer_too_large', 'too large'));
  const conductor = { bus: { call }, config: { selectTimeoutMs: 1_000 } } as unknown as Conductor;
  await expect(callScheduler(conductor, newMethod, '')).rejects.toMatchObject({ code: 'failed_precondition' });
});
