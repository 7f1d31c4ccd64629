import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { Resources } from '../domain/inventory';
import { DAY_MS } from '../domain/quotas/utc-day';
import type { Random } from '../domain/random';
import type { Mirror } from '../placement/mirror/mirror';
import type { PlacementStore, ProjectUsage, SettleProject } from '../placement/port/placement-store';
import type { Log } from '../runtime/log';

export interface SettleDeps {
  readonly placement: PlacementStore;
  readonly mirror: Pick<Mirror, 'apply' | 'revision' | 'quotas' | 'readiness'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly config: { readonly usageDays: number; readonly usageRecords: number; readonly usageIntervalMs: number };
}

/**
 * Keeps what is counted of projects in order: moves finished days to their history, forgets days that are too old, and
 * corrects what is counted as held where it is not what the consumers hold, as after an upgrade from a release that did not
 * count. Every scheduler does it at its own pace; each row is guarded, so that one of them does it. Ends when the signal
 * aborts.
 */
export async function keepProjectsSettled(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log, config } = deps;
  const folded: FoldedUsage = new Map();
  while (!signal.aborted) {
    await sleep(clock, config.usageIntervalMs * (0.75 + random.next() / 2), signal);
    if (signal.aborted || !deps.mirror.readiness().ready) continue;
    try {
      await settleProjects(deps);
      await foldUsages(deps, folded);
    } catch (thrown) {
      const { code, reason, message } = BerthError.from(thrown);
      log.warn({ event: 'usage_not_settled', code, reason }, `project usage not settled: ${message}`);
    }
  }
}

/** @throws BerthError as `PlacementStore.commit`. */
export async function settleProjects({ placement, mirror, clock, log, config }: SettleDeps): Promise<void> {
  const rows = new Map((await placement.projectUsages()).map((row) => [row.projectId, row]));
  const atMs = clock.now();
  const today = Math.floor(atMs / DAY_MS);
  // Nothing changes in the mirror from here to the last decision.
  const { quotas, revision } = mirror;
  const commands: SettleProject[] = [];
  for (const projectId of new Set([...rows.keys(), ...quotas.projects()])) {
    const row = rows.get(projectId);
    const held = quotas.usage(projectId);
    // A row that the mirror has not come to yet may count what it does not show.
    const isWrong = (row?.revision ?? 0) <= revision && !isSame(row?.used ?? {}, held);
    if (!isWrong && (row === undefined || isSettled(row, today))) continue;
    const correction = isWrong ? { correction: { used: held, revision: row?.revision ?? 0 } } : {};
    commands.push({ kind: 'settle_project', projectId, keepDays: config.usageDays, ...correction });
  }
  for (const command of commands) {
    const result = await placement.commit({ ...command, atMs });
    if (result.kind !== 'committed') continue;
    mirror.apply(result.change);
    if (!command.correction) continue;
    const fields = { event: 'usage_corrected', project_id: command.projectId, used: command.correction.used };
    log.warn(fields, 'corrected the usage of a project');
  }
}

/** When a process looked at the ended usage of each project: the revision of its row, and the day. */
export type FoldedUsage = Map<string, { readonly revision: number; readonly day: number }>;

/** Sums up what consumers held and hold no more, beyond what is kept by name, of projects that changed since or on another day. */
export async function foldUsages({ placement, clock, config }: SettleDeps, folded: FoldedUsage): Promise<void> {
  const rows = await placement.projectUsages();
  const today = Math.floor(clock.now() / DAY_MS);
  const present = new Set(rows.map(({ projectId }) => projectId));
  for (const projectId of folded.keys()) if (!present.has(projectId)) folded.delete(projectId);
  const { usageRecords: keepRecords, usageDays: keepDays } = config;
  for (const { projectId, revision } of rows) {
    const last = folded.get(projectId);
    const forgetsOld = last?.day !== today;
    if (!forgetsOld && last.revision === revision) continue;
    const command = { kind: 'fold_usage', projectId, keepRecords, keepDays, forgetsOld } as const;
    while ((await placement.commit({ ...command, atMs: clock.now() })).kind === 'committed');
    folded.set(projectId, { revision, day: today });
  }
}

/** True if the usage is counted up to today. */
function isSettled({ atMs, days }: ProjectUsage, today: number): boolean {
  return atMs >= today * DAY_MS && Object.keys(days).every((day) => Number(day) >= today);
}

function isSame(a: Resources, b: Resources): boolean {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => (a[name] ?? 0) === (b[name] ?? 0));
}
