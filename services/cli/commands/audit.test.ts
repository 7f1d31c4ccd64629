import type { DoubtView } from '#libs/contracts/doubts';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import { auditLines } from './audit';

const UUID = '5d9b3c1e-0000-4000-8000-000000000001';

function quotaOf(projectId: string, VCPU: number, limit: number | undefined, cohort = ''): ProjectQuotaView {
  const limits = limit === undefined ? {} : { VCPU: limit };
  return { projectId, cohort, limits, used: { VCPU }, borrowLimits: {}, lendLimits: {} } as unknown as ProjectQuotaView;
}

function client(fields: { readonly doubts?: DoubtView[]; readonly quotas?: ProjectQuotaView[] }) {
  const { doubts = [], quotas = [] } = fields;
  return {
    doubts: async () => ({ doubts, storeBornAtMs: 1, storeJumpsAtMs: [2] }),
    instances: async () => [],
    overAllocated: async () => [],
    quotas: async () => quotas,
    defaultLimits: async () => ({ VCPU: 4 }),
  };
}

it('shows what a project holds above a limit of its own, of all projects and of its cohort, and how to settle it', async () => {
  const quotas = [quotaOf('web', 9, 8), quotaOf('plain', 5, undefined), quotaOf('within', 8, 8)];
  const { lines } = await auditLines(client({ quotas }));
  expect(lines.map(({ finding, message, instanceUuid, host }) => [finding, message, instanceUuid, host])).toEqual([
    ['above_quota', 'project web holds 9 VCPU of 8', '', ''],
    ['above_quota', 'project plain holds 5 VCPU of 4', '', ''],
  ]);
  expect(lines[0]?.remedies).toEqual(['raise its limit (berth quota set)', 'berth terminate one of its instances']);
});

it('shows that a cohort holds more than its members lend', async () => {
  const quotas = [quotaOf('a', 9, 4, 'both'), quotaOf('b', 3, 4, 'both')];
  const { lines } = await auditLines(client({ quotas }));
  expect(lines.map(({ message }) => message)).toContain('cohort both holds 12 VCPU of 8');
});

it('names each host that was not heard since the store lost writes, and how to declare it dead', async () => {
  const unheard = { finding: 'unheard', host: 'h2', message: 'the store has lost writes', sinceMs: 1, seenAtMs: 1 };
  const doubts = [
    { ...unheard, instanceUuid: '' },
    { ...unheard, instanceUuid: UUID },
  ];
  const { lines, storeJumpsAtMs } = await auditLines(client({ doubts }));
  expect(lines.map(({ host, remedies }) => [host, remedies])).toEqual([
    ['h2', ['if h2 is dead: berth host delete h2']],
    ['h2', [`if h2 is dead: berth instance evacuate ${UUID}`, 'if h2 is dead: berth host delete h2']],
  ]);
  expect(storeJumpsAtMs).toEqual([2]);
});
