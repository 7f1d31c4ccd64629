import { diagnosisFor } from '#libs/contracts/diagnosis-for';
import type { Identity } from '#libs/contracts/identity';
import { type QuotaExcess, sentenceOf } from '#libs/domain/quotas/quota';

const TENANT: Identity = { kind: 'project', projectId: 'project-1' };
const OWN: QuotaExcess = { scope: 'project', name: 'project-1', resourceClass: 'VCPU', used: 2, asked: 3, limit: 4 };
const ALL: QuotaExcess = { scope: 'cohort', name: 'lab', resourceClass: 'VCPU', used: 7_411, asked: 3, limit: 7_412 };
const DIAGNOSIS = {
  hostsConsidered: 1,
  hostsPassed: 0,
  filters: [],
  claimConflicts: 0,
  summary: '',
  quotaExceeded: [OWN, ALL],
};

it("a tenant is told its own use, and not its cohort's", () => {
  expect(diagnosisFor(TENANT, DIAGNOSIS).quotaExceeded).toEqual([OWN]);
});

it("an operator is told the cohort's use", () => {
  expect(diagnosisFor({ kind: 'service' }, DIAGNOSIS).quotaExceeded).toEqual([OWN, ALL]);
});

it("the sentence of a refusal has no sums of a cohort: a project's fault carries it", () => {
  expect(sentenceOf([OWN, ALL])).toBe('VCPU: 2 used, 3 asked, limit 4; VCPU: 3 asked, more than is left of cohort lab');
});
