import { exceededBy, type Quota, type QuotaState } from './quota';

type Held = Readonly<Record<string, number>>;

function stateOf(projects: Readonly<Record<string, readonly [used: Held, quota?: Partial<Quota>]>>): QuotaState {
  const quota = (name: string) => {
    const said = projects[name]?.[1];
    return said && { limits: {}, cohort: undefined, borrowLimits: {}, ...said };
  };
  return {
    quota,
    defaultQuota: () => ({ limits: { VCPU: 4 }, cohort: undefined, borrowLimits: {} }),
    usage: (name) => projects[name]?.[0] ?? {},
    members: (cohort) => Object.keys(projects).filter((name) => quota(name)?.cohort === cohort),
  };
}

it('names what a project holds above its own limit, or the default', () => {
  const state = stateOf({
    within: [{ VCPU: 4 }],
    above: [{ VCPU: 5, MEMORY_MB: 9 }],
    own: [{ VCPU: 9, instances: 2 }, { limits: { VCPU: -1, instances: 1 } }],
  });
  expect(exceededBy('within', state)).toEqual([]);
  expect(exceededBy('above', state)).toMatchObject([{ scope: 'project', resourceClass: 'VCPU', used: 5, limit: 4 }]);
  expect(exceededBy('own', state)).toMatchObject([{ resourceClass: 'instances', used: 2, limit: 1 }]);
});

it('counts what may be borrowed, and what all of a cohort hold', () => {
  const lab = { cohort: 'lab', borrowLimits: { VCPU: 2 } };
  const borrows = stateOf({ a: [{ VCPU: 6 }, lab], b: [{ VCPU: 2 }, lab] });
  expect(exceededBy('a', borrows)).toEqual([]);
  const above = stateOf({ a: [{ VCPU: 7 }, lab], b: [{ VCPU: 1 }, lab] });
  expect(exceededBy('a', above)).toMatchObject([{ scope: 'project', name: 'a', used: 7, limit: 6 }]);
  const together = stateOf({ a: [{ VCPU: 6 }, lab], b: [{ VCPU: 3 }, lab] });
  expect(exceededBy('b', together)).toMatchObject([{ scope: 'cohort', name: 'lab', used: 9, limit: 8 }]);
});
