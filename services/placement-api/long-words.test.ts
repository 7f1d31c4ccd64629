import { MAX_ERROR_TEXT } from '#libs/domain/naming/bounded-text';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { BUILD_ROUTES } from './builds/routes';
import { ROUTES } from './routes';
import { openApi } from './testing/api';

/* Clients of every route send the longest texts that are taken, and hear no more of them than an error may be long. */

const LONG = 'x'.repeat(12_000);
const HEADERS = ['accept', 'content-type', 'openstack-api-version', 'idempotency-key', 'berth-enforce-quotas'];

it.each([...ROUTES, ...BUILD_ROUTES].map(({ method, path }) => [method, path] as const))(
  '%s %s repeats a bounded part of what it refuses',
  async (method, path) => {
    const api = await openApi(new MemoryPlacementStore());
    const named = path.replaceAll(/\{\w+\}/g, LONG);
    const asked = [
      { to: named, headers: {} },
      { to: `${path}?${LONG}=1&name=${LONG}`, headers: {} },
      ...HEADERS.map((name) => ({ to: path, headers: { [name]: LONG } })),
    ];
    const body = JSON.stringify({ [LONG]: LONG, name: LONG, uuid: LONG, resources: { [LONG]: LONG } });
    const sizes = [];
    for (const { to, headers } of asked) {
      const sent = { 'x-auth-token': 'ann:shop', 'x-roles': 'admin', 'content-type': 'application/json', ...headers };
      const init = { method, headers: sent, ...(method === 'GET' ? {} : { body }) };
      const answer = await fetch(`${api.url}${to}`, init);
      if (answer.status >= 400) sizes.push((await answer.text()).length);
    }
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan(MAX_ERROR_TEXT + 1_024);
    await api.close();
  },
);
