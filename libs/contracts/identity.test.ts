import {
  canHaveAgents,
  canHaveUser,
  type Identity,
  identityOf,
  sendsByEntrances,
  speaksForHost,
  speaksForProject,
  speaksForServiceHost,
  userOf,
} from './identity';

const AGENT = { kind: 'agent', host: 'host-1.example', carriesOthers: false } as const;
const RACK = { kind: 'agent', host: 'rack', carriesOthers: true } as const;
const OF_POOL = { kind: 'agent', host: 'metal-a.example', carriesOthers: false, pool: 'rack-7' } as const;
const PROJECT = { kind: 'project', projectId: 'a.b' } as const;

it.each([
  ['agent.host-1.example', AGENT],
  ['service-host.rack', RACK],
  ['pool-rack-7.metal-a.example', OF_POOL],
  ['project.a.b', PROJECT],
])('the user %s speaks for %j', (user, identity) => {
  expect(userOf(identity)).toBe(user);
  expect(identityOf(user)).toEqual(identity);
});

it.each(['', 'guest', 'scheduler', 'operator', 'agents.h', 'agent', 'projects', '.agent.h'])(
  'the user %p is a service or an operator',
  (user) => {
    expect(identityOf(user)).toEqual({ kind: 'service' });
  },
);

it.each([
  ['console', true],
  ['cell.b.console', true],
  ['cell.b.project.a', true],
  ['agent.host-1', true],
  ['scheduler', false],
  ['cell.b.conductor', false],
  ['guest', false],
])('the user %s sends by entrances: %s', (user, expected) => {
  expect(sendsByEntrances(user)).toBe(expected);
});

it('a console speaks for nobody in another cell', () => {
  expect(identityOf('console', 'b')).toEqual({ kind: 'nobody' });
  expect(identityOf('cell.b.console', 'b')).toEqual({ kind: 'service' });
});

it.each<[Identity, string, boolean]>([
  [AGENT, 'host-1.example', true],
  [AGENT, 'host-1', false],
  [AGENT, 'host-1.example-1', false],
  [RACK, 'rack', true],
  [RACK, 'rack-007', true],
  [RACK, 'rack-', false],
  [RACK, 'rack-20000', true],
  [RACK, 'rack-20001', false],
  [RACK, 'rack-000001', false],
  [RACK, 'rack-0', false],
  [RACK, 'rack-7-8', false],
  [RACK, 'rack-b', false],
  [RACK, 'rac', false],
  [OF_POOL, 'metal-a.example', false],
  [OF_POOL, 'node-1', false],
  [PROJECT, 'a.b', false],
  [{ kind: 'service' }, 'any', true],
])('%j speaks for host %s: %s', (identity, host, expected) => {
  expect(speaksForHost(identity, host)).toBe(expected);
});

it.each<[Identity, string, boolean]>([
  [OF_POOL, 'metal-a.example', true],
  [OF_POOL, 'metal-a', false],
  [OF_POOL, 'metal-b.example', false],
  [RACK, 'rack-7', true],
  [AGENT, 'host-1.example', true],
  [AGENT, 'host-1', false],
  [PROJECT, 'a.b', false],
])('%j acts as service host %s: %s', (identity, serviceHost, expected) => {
  expect(speaksForServiceHost(identity, serviceHost)).toBe(expected);
});

it.each<[Identity, string, boolean]>([
  [PROJECT, 'a.b', true],
  [PROJECT, 'a-b', false],
  [PROJECT, '', false],
  [AGENT, 'host-1.example', false],
  [{ kind: 'service' }, '', true],
])('%j speaks for project %p: %s', (identity, projectId, expected) => {
  expect(speaksForProject(identity, projectId)).toBe(expected);
});

it.each(['', '.a', 'a b', 'a/b', 'a*', 'a#', 'é', 'x'.repeat(101)])('gives no user to %p', (name) => {
  expect(canHaveUser(name)).toBe(false);
});

it.each(['', '-a', 'rack.7', 'a b', 'a*', 'x'.repeat(41)])('gives no users to the agents of pool %p', (pool) => {
  expect(canHaveAgents(pool)).toBe(false);
});
