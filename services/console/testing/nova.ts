import { decisionCodec } from '#libs/contracts/diagnosis';
import type { ShadowReport } from '#libs/contracts/shadow-report';
import type { KeptDecision } from '#libs/placement/port/placement-store';

let count = 0;

interface DecisionFields {
  readonly requestId: string;
  readonly instance: string;
  /** Without one there was no valid host, for this reason. */
  readonly host?: string;
  readonly reason?: string;
  readonly forNova?: boolean;
}

/** A decision for Nova as its scheduler keeps it. */
export function aNovaDecision({ requestId, instance, host, reason, forNova = true }: DecisionFields): KeptDecision {
  const reasons = { 'trait CUSTOM_NOPE is missing': 3 };
  const counts = { hostsConsidered: 3, hostsPassed: host === undefined ? 0 : 2, claimConflicts: 0 };
  const filters = host === undefined ? [{ filter: 'placement', refused: 3, reasons }] : [];
  const weights = { RAMWeigher: 1 };
  const content = decisionCodec.encode({
    requestId,
    projectId: 'p'.repeat(32),
    decidedAtMs: Date.parse('2026-01-01T00:00:00Z') + count,
    revision: 1,
    diagnosis: { ...counts, filters, summary: reason ?? '2 of 3 hosts pass', quotaExceeded: [] },
    hosts: host === undefined ? [] : [{ host, passed: true, refusals: [], weight: 1, weights, roomCosts: [] }],
    selected: host === undefined ? {} : { [instance]: host },
    forNova,
  });
  return { id: `d${++count}`, foundBy: [instance, requestId], content };
}

/** The report of a shadow that agreed in eight of ten. */
export function aShadowReport(): ShadowReport {
  const choice = (host: string) => ({ hosts: [host], weight: 1.5, weights: {} });
  return {
    sinceMs: Date.parse('2026-01-01T00:00:00Z'),
    outcomes: { same: 7, alternate: 1, different: 1, neither: 1, only_nova: 0, only_berth: 0, unseen: 2 },
    causes: { equal_weight: 2 },
    berthTimes: { count: 12, p50Ms: 3, p99Ms: 9 },
    novaTimes: { count: 12, p50Ms: 800, p99Ms: 1_900 },
    differences: [
      {
        atMs: Date.parse('2026-01-01T00:10:00Z'),
        requestId: 'req-0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a',
        instanceUuid: '11111111-0000-4000-8000-000000000001',
        outcome: 'different',
        berth: choice('h1'),
        nova: choice('h2'),
        cause: 'equal_weight',
        why: 'h2 weighs the same',
        berthMs: 3,
        novaMs: 800,
      },
    ],
  };
}
