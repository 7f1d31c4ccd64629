import { openForest } from '#libs/testing/forest';
import { findCandidates } from './find-candidates';

it('x', async () => {
  const f = await openForest([
    { name: 'cn1', has: { VCPU: 8, MEMORY_MB: 1024 }, in: ['A'] },
    { name: 'cn2', has: { VCPU: 8, MEMORY_MB: 1024, DISK_GB: 10 }, in: ['A'] },
    { name: 'ss', has: { DISK_GB: 100 }, in: ['A'], traits: ['MISC_SHARES_VIA_AGGREGATE'] },
  ]);
  const g = { requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [], inTree: undefined };
  const r = findCandidates(f.view, {
    groups: [{ suffix: '', resources: { VCPU: 1, DISK_GB: 10 }, ...g }],
    groupPolicy: 'none',
    sameSubtrees: [],
    rootRequiredTraits: [],
    rootForbiddenTraits: [],
  });
  process.stdout.write(JSON.stringify(r, null, 1));
  await f.close();
});
