import { addressOptions } from '../runtime/options';
import { parseStoreUrl } from './address';

it.each([
  ['redis://user:pw@h:6380/2', { kind: 'server', url: 'redis://user:pw@h:6380/2' }],
  [
    'redis+sentinel://u:p%40w@h1:26380,h2/main?sentinel_user=s&sentinel_password=q%26',
    {
      kind: 'sentinel',
      hasTls: false,
      login: { username: 'u', password: 'p@w' },
      sentinels: [
        { host: 'h1', port: 26_380 },
        { host: 'h2', port: 26_379 },
      ],
      sentinelLogin: { username: 's', password: 'q&' },
      name: 'main',
    },
  ],
  [
    'rediss+sentinel://:p@[::1]:5/main',
    {
      kind: 'sentinel',
      hasTls: true,
      login: { password: 'p' },
      sentinels: [{ host: '::1', port: 5 }],
      sentinelLogin: {},
      name: 'main',
    },
  ],
  [
    'rediss+cluster://h1,h2:7000/',
    {
      kind: 'cluster',
      hasTls: true,
      login: {},
      nodes: [
        { host: 'h1', port: 6_379 },
        { host: 'h2', port: 7_000 },
      ],
    },
  ],
])('reads %s', (url, address) => {
  expect(parseStoreUrl(url)).toEqual(address);
  expect(addressOptions.storeUrl.schema.safeParse(url).data).toBe(url);
});

it.each([
  ['http://h', 'none of'],
  ['redis+sentinel://h1,h2', 'name of the primary'],
  ['redis+sentinel://h1,,h2/main', "'' is no host"],
  ['redis+sentinel://h1:port/main', "'h1:port' is no host"],
  ['redis+sentinel://h1/main?sentinel_pasword=x', "no setting is called 'sentinel_pasword'"],
  ['redis+cluster://h1/3', 'no databases'],
])('refuses %s, without showing it', (url, problem) => {
  expect(() => parseStoreUrl(url)).toThrow(problem);
});

it('refuses as a setting what lacks a name, or a Cluster with a database', () => {
  for (const url of ['redis+sentinel://h1,h2', 'redis+cluster://h1/3', 'redis+other://h1', 'redis://']) {
    expect(addressOptions.storeUrl.schema.safeParse(url).success).toBe(false);
  }
});
