import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from '../testing/conductor-world';
import { misplacedIn, type Place } from './audit-groups';

const at = (uuid: string, host: string, fields: Partial<Place> = {}): Place => {
  return { uuid, host, projectId: 'project-1', groupId: 'web', isKept: false, claimToken: 1, ...fields };
};
const kept = (uuid: string, host: string) => at(uuid, host, { isKept: true });
const later = (uuid: string, host: string) => at(uuid, host, { claimToken: 2 });
const AFFINITY = { id: 'web', policy: 'affinity', maxPerHost: 1 } as const;
const APART = { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } as const;

it.each([
  ['on one host', [at('a', 'h1'), at('b', 'h1')], []],
  ['on its move, all of it at either end', [at('a', 'h2'), kept('a', 'h1'), at('b', 'h1')], []],
  ['parted', [at('a', 'h2'), at('b', 'h1'), at('c', 'h1')], ['a h2']],
  ['parted, one on its move', [at('a', 'h2'), kept('a', 'h3'), at('b', 'h1'), at('c', 'h1')], ['a h2']],
])('shows of an affinity group that is %s those that are not with most', (_, places, shown) => {
  expect(misplacedIn(AFFINITY, places).map(({ uuid, host }) => `${uuid} ${host}`)).toEqual(shown);
});

it.each([
  ['apart', 1, [at('a', 'h1'), at('b', 'h2')], []],
  ['two on a host', 1, [later('a', 'h1'), at('b', 'h1')], ['a h1']],
  ['two on a host that may have them', 2, [later('a', 'h1'), at('b', 'h1')], []],
  ['one where another may go back to', 1, [kept('a', 'h1'), at('a', 'h2'), later('b', 'h1')], ['b h1']],
  ['resized in place', 1, [kept('a', 'h1'), at('a', 'h1'), at('b', 'h2')], []],
])('shows of an anti-affinity group, %s, those that came last', (_, maxPerHost, places, shown) => {
  expect(misplacedIn({ ...APART, maxPerHost }, places).map(({ uuid, host }) => `${uuid} ${host}`)).toEqual(shown);
});

it('shows nothing of soft policies', () => {
  expect(misplacedIn({ ...APART, policy: 'soft-anti-affinity' }, [at('a', 'h1'), at('b', 'h1')])).toEqual([]);
});

describe('an audit', () => {
  let world: ConductorWorld;
  let conductor: Running;

  beforeEach(async () => {
    world = new ConductorWorld();
    world.group = APART;
    await world.open({ h1: 4, h2: 4 });
    conductor = await world.conductor();
  });

  afterEach(async () => {
    await world.closed(conductor);
  });

  it('shows a member that was let in by force until it has left', async () => {
    await world.request(2);
    await world.clock.advance(0);
    const there = await world.all();
    const claim = async (hosts: readonly string[]) => {
      const writes = there.map(({ uuid }, n) =>
        claimWrite(world.opened(world.allocationRequest(uuid, hosts[n] ?? ''))),
      );
      const consumers = writes.map((write) => ({ ...write, expect: { kind: 'any' } as const }));
      const atMs = world.clock.now();
      return world.placement.commit({ kind: 'write_allocations', atMs, force: true, consumers });
    };
    expect((await claim(['h1', 'h1'])).kind).toBe('committed');
    await world.clock.advance(120_000);
    const found = await world.instances.listDoubts();
    const message = "h1 has 2 members of anti-affinity group 'web', and may have 1";
    expect(found).toMatchObject([{ finding: 'group_broken', host: 'h1', message }]);
  });
});
