import type { InstanceEvent } from '#libs/contracts/instance';
import { NewerEvents } from './newer-events';

const event = (version: number, instanceUuid = 'one', requestId = 'r') =>
  ({ instanceUuid, requestId, version }) as unknown as InstanceEvent;

it('takes each version of an instance once, and none that is older than another', () => {
  const newer = new NewerEvents();
  const heard = [event(1), event(1), event(1, 'other'), event(2), event(1), event(4), event(3), event(4), event(5)];
  expect(heard.filter((one) => newer.isNews(one))).toEqual([event(1), event(1, 'other'), event(2), event(4), event(5)]);
});

it('calls outdated what is older than what was seen, and not what comes again', () => {
  const newer = new NewerEvents();
  expect([event(2), event(2), event(1), event(3), event(2)].map((one) => newer.isOutdated(one))).toEqual([
    false,
    false,
    true,
    false,
    true,
  ]);
});

it('begins anew with an instance that was adopted under another request', () => {
  const newer = new NewerEvents();
  expect(newer.isNews(event(5))).toBe(true);
  expect(newer.isNews(event(1, 'one', 'one'))).toBe(true);
});
