import { fakeClock } from '#libs/testing/fake-clock';
import type { RedfishAnswer } from './redfish-http';
import { RedfishService } from './redfish-service';

/** A service that refuses once, with these headers, and then answers; how often it was asked. */
function refusingOnce(headers: Readonly<Record<string, string>>) {
  const clock = fakeClock();
  let askedCount = 0;
  const ask = async (): Promise<RedfishAnswer> => {
    askedCount++;
    return { status: askedCount === 1 ? 503 : 200, headers: new Headers(headers), body: {} };
  };
  const service = new RedfishService('http://bmc', { user: 'u', password: 'p', timeoutMs: 1_000, clock, ask });
  return { clock, service, askedCount: () => askedCount };
}

it.each<[string, Readonly<Record<string, string>>, number]>([
  ['in seconds', { 'retry-after': '2' }, 2_000],
  [
    'as a date, by its own clock',
    { 'retry-after': 'Thu, 01 Jan 1970 00:05:02 GMT', date: 'Thu, 01 Jan 1970 00:05:00 GMT' },
    2_000,
  ],
  [
    'as a date that is over',
    { 'retry-after': 'Thu, 01 Jan 1970 00:05:00 GMT', date: 'Thu, 01 Jan 1970 00:05:02 GMT' },
    0,
  ],
  ['not, in what is neither', { 'retry-after': 'soon' }, 100],
])('asks again after the time that a service names %s', async (_, headers, pauseMs) => {
  const { clock, service, askedCount } = refusingOnce(headers);
  const answer = service.send('/redfish/v1/Systems/1', {});
  await clock.advance(Math.max(0, pauseMs - 1));
  expect(askedCount()).toBe(pauseMs === 0 ? 2 : 1);
  await clock.advance(1);
  expect(await answer).toMatchObject({ status: 200 });
  expect(askedCount()).toBe(2);
});

it('leaves it to who asked when a service wants more time than it is waited for', async () => {
  const { service, askedCount } = refusingOnce({ 'retry-after': '31' });
  expect(await service.send('/redfish/v1/Systems/1', {})).toMatchObject({ status: 503 });
  expect(askedCount()).toBe(1);
});

it('opens a session for each of two claims of a node under different epochs, also when both come at once', async () => {
  let opened = 0;
  const ended: string[] = [];
  const ask = async (url: string, { method }: { readonly method?: string }): Promise<RedfishAnswer> => {
    if (method === 'DELETE') ended.push(url);
    const location = method === 'POST' ? `/sessions/${++opened}` : '';
    return { status: 200, headers: new Headers({ 'x-auth-token': `token ${opened}`, location }), body: {} };
  };
  const service = new RedfishService('http://bmc', {
    user: 'u',
    password: 'p',
    timeoutMs: 1_000,
    clock: fakeClock(),
    ask,
  });
  const [first, next] = await Promise.all([3, 4].map((epoch) => service.sessionFor('node-1', epoch, 'berth')));
  expect([first, next]).toMatchObject([{ link: '/sessions/1' }, { link: '/sessions/2' }]);
  expect(ended).toEqual(['http://bmc/sessions/1']);
});
