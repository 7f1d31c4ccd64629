import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import type { ServerGroup } from '#libs/domain/server-group';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { mustCommit } from '#libs/testing/placement/placement';
import { TestCell } from '../test-cell';

/* Two schedulers, each with a mirror of its own, place members of one group over racks at the same time. */

const RACKS = ['r1', 'r2', 'r3'];
const HOSTS_PER_RACK = 2;
const ROUNDS = 20;
const AT_ONCE = 24;

let cell: TestCell;
beforeAll(async () => {
  cell = await TestCell.start();
  for (const rack of RACKS) {
    const uuid = randomUUID();
    await mustCommit(cell.store, { kind: 'create_aggregate', uuid, name: rack, metadata: { rack } });
    for (let n = 0; n < HOSTS_PER_RACK; n++) {
      const host = `${rack}-${n}`;
      await cell.reportHost(host, { VCPU: inventory(1_000) });
      await mustCommit(cell.store, { kind: 'add_aggregate_host', uuid, host });
    }
  }
});
afterAll(() => cell.stop());

it.each([1, 2])(
  'keeps a group within a skew of %i at every claim, and refuses none that has a place',
  async (maxSkew) => {
    for (let round = 0; round < ROUNDS; round++) {
      const group: ServerGroup = {
        id: `web-${round}-${maxSkew}`,
        policy: 'soft-anti-affinity',
        maxPerHost: 1,
        spread: { by: 'rack', maxSkew },
      };
      const spec = aRequestSpec({ resources: { VCPU: 1 }, group });
      const uuids = Array.from({ length: AT_ONCE }, () => randomUUID());
      const answers = await Promise.all(uuids.map((uuid) => cell.select(uuid, spec)));
      expect(answers.flatMap(({ noValidHost }) => noValidHost?.summary ?? [])).toEqual([]);
      const members = (await cell.store.consumers(uuids)).sort((a, b) => a.claimToken - b.claimToken);
      expect(members).toHaveLength(AT_ONCE);
      const counts = new Map(RACKS.map((rack) => [rack, 0]));
      for (const { groupHost = '', groupDomain } of members) {
        const rack = groupHost.split('-')[0] as string;
        expect(groupDomain).toEqual({ by: 'rack', domain: rack });
        counts.set(rack, (counts.get(rack) ?? 0) + 1);
        expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(maxSkew);
      }
    }
  },
);
