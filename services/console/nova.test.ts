import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '#libs/runtime/system';
import type { NovaPage } from './api/nova';
import type { Found } from './api/search';
import type { Shell } from './api/stream';
import { Browse } from './testing/browse';
import { aNovaDecision, aShadowReport } from './testing/nova';
import { openWorld, type World } from './testing/world';

const REQUEST = '0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a';
const INSTANCE = '11111111-0000-4000-8000-000000000001';
const REASON = '3 hosts: placement refuses 3 (trait CUSTOM_NOPE is missing: 3).';

let world: World;
let url: string;
let body: unknown;
const shadow = createServer((_request, response) => response.end(JSON.stringify(body)));
beforeAll(async () => {
  await once(shadow.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(shadow.address() as AddressInfo).port}`;
});
afterAll(() => {
  shadow.closeAllConnections();
  shadow.close();
});
beforeEach(async () => {
  body = aShadowReport();
  world = await openWorld({ BERTH_CONSOLE_NOVA_SHADOW_URL: `${url}/` });
});
afterEach(() => world.close());

async function look(query: string, isMeant: (page: NovaPage) => boolean = () => true): Promise<NovaPage> {
  const stream = await new Browse(world.url).listen(`/api/stream?page=nova${query}`);
  const page = await stream.until<NovaPage>('page', isMeant);
  stream.close();
  return page;
}

it("lists Nova's decisions, the newest first, and no others", async () => {
  const { placement } = world;
  await placement.keepDecisions(
    [
      aNovaDecision({ requestId: REQUEST, instance: INSTANCE, host: 'h1' }),
      aNovaDecision({ requestId: INSTANCE, instance: INSTANCE, host: 'h9', forNova: false }),
      aNovaDecision({ requestId: REQUEST, instance: INSTANCE, reason: REASON }),
    ],
    10,
  );
  const { decisions, asked } = await look('');
  expect(decisions).toMatchObject([
    { requestId: `req-${REQUEST}`, selected: {}, summary: REASON },
    { requestId: `req-${REQUEST}`, selected: { [INSTANCE]: 'h1' } },
  ]);
  expect(asked).toBeUndefined();
});

it("leads from Nova's id of a request to its decision, with why there is no valid host", async () => {
  await world.placement.keepDecisions([aNovaDecision({ requestId: REQUEST, instance: INSTANCE, reason: REASON })], 10);
  const { asked } = await look(`&request=req-${REQUEST}`);
  const filters = [{ filter: 'placement', refused: 3, reasons: [{ name: 'trait CUSTOM_NOPE is missing', count: 3 }] }];
  expect(asked).toMatchObject({ requestId: `req-${REQUEST}`, summary: REASON, passed: 0, considered: 3, filters });
  const browse = new Browse(world.url);
  for (const text of [`req-${REQUEST}`, INSTANCE]) {
    const found = (await browse.ask('GET', `/api/search?q=${text}`)).body as Found[];
    expect(found).toEqual([{ kind: 'request', id: `req-${REQUEST}`, label: `req-${REQUEST}`, note: 'Nova' }]);
  }
  expect((await look(`&request=req-${INSTANCE.replace('1', '2')}`)).asked).toBeUndefined();
});

it('tells how often a shadow agrees, and says when it does not answer as one', async () => {
  expect((await look('')).shadow).toMatchObject({ kind: 'report', compared: 10, alike: 8 });
  body = { hello: 1 };
  const { shadow: away } = await look('', (page) => page.shadow.kind === 'away');
  expect(away).toMatchObject({ why: expect.stringContaining('has no report of a shadow') });
});

it('is among the pages where a scheduler for Nova is', async () => {
  const shell = async ({ url: at }: World, isMeant: (shell: Shell) => boolean) => {
    const stream = await new Browse(at).listen('/api/stream?page=nova');
    const { hasNova } = await stream.until<Shell>('shell', isMeant);
    stream.close();
    return hasNova;
  };
  expect(await shell(world, ({ hasNova }) => hasNova)).toBe(true);
  const without = await openWorld();
  expect(await shell(without, () => true)).toBe(false);
  const process = { service: 'nova-scheduler', name: 'n1', version: '0.1.0', startedAtMs: 1, problem: '' };
  await without.placement.noteProcess(process, systemClock().now() + 60_000, 86_400_000);
  expect(await shell(without, ({ hasNova }) => hasNova)).toBe(true);
  await without.close();
});
