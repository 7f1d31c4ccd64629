import type { HostVerdict } from '#libs/contracts/diagnosis';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { readConfig } from '#libs/runtime/config';
import { counted } from '#libs/runtime/counted';
import { explainNoCandidates } from '../../nova-scheduler/decision/find-hosts';
import { Refusals } from '../../nova-scheduler/decision/refusals';
import type { NovaDecideEntry, NovaFlightEntry } from '../../nova-scheduler/flight/entries';
import { novaOutcomeOf } from '../../nova-scheduler/flight/outcome-of';
import { type NovaConfig, novaOptions } from '../../nova-scheduler/options';
import type { PastExplained, Reconstructed } from '../explained';
import { entriesOf, type FoundDecision } from '../records';
import type { WhatIf } from '../what-if';
import { NovaReplay } from './nova-replay';

/** No later decision of Nova's is made again for the regret of another choice. */
const NO_REGRET = { count: 0, untilMs: undefined, placed: [], refused: [] };

/** Makes a recorded decision for Nova again, on what its scheduler saw. @throws BerthError as `explainPast` */
export async function explainNova(found: FoundDecision, changes: readonly WhatIf[]): Promise<PastExplained> {
  const { replay, entry } = await positionAt(found);
  try {
    const { isSame } = await replay.again(entry);
    const now = await reconstruct(replay, entry, replay.segment.config);
    const instead = changes.length === 0 ? undefined : await otherwise(replay, entry, changes);
    const { vcpus = 0, memory_mb: memoryMb = 0, root_gb: rootGb = 0 } = entry.request.spec.flavor ?? {};
    return {
      ...now,
      segment: found.segment.path,
      version: replay.segment.version,
      requestId: entry.request.requestId,
      instanceUuids: entry.request.instanceUuids,
      resources: { VCPU: vcpus, MEMORY_MB: memoryMb, DISK_GB: rootGb },
      decidedAtMs: entry.attempt.nowMs,
      revision: entry.revision,
      recorded: entry.outcome,
      isSame,
      instead: instead && { ...instead, regret: NO_REGRET },
    };
  } finally {
    await replay.close();
  }
}

async function positionAt({ segment, index }: FoundDecision): Promise<{ replay: NovaReplay; entry: NovaDecideEntry }> {
  const replay = await NovaReplay.open(entriesOf(segment) as Iterable<NovaFlightEntry>);
  let n = 0;
  for (const entry of replay?.decisions() ?? []) if (replay !== undefined && n++ === index) return { replay, entry };
  await replay?.close();
  throw new BerthError('not_found', 'no_such_decision', `${segment.path} has changed`);
}

async function otherwise(
  replay: NovaReplay,
  entry: NovaDecideEntry,
  changes: readonly WhatIf[],
): Promise<Reconstructed> {
  for (const change of changes) if (change.kind === 'host') replay.setHost(change.host, change.up);
  return reconstruct(replay, entry, changes.reduce(changed, replay.segment.config));
}

/** @throws BerthError `not_found / no_such_filter`, `invalid_argument / bad_what_if` */
function changed(config: NovaConfig, change: WhatIf): NovaConfig {
  if (change.kind === 'host') return config;
  if (change.kind === 'without-filter') {
    const filters = config.filters.filter((name) => name !== change.filter);
    if (filters.length < config.filters.length) return { ...config, filters };
    throw new BerthError('not_found', 'no_such_filter', `the scheduler had no filter '${change.filter}'`);
  }
  const env = change.name.replace(/^BERTH_SCHEDULER_WEIGHT_/, 'BERTH_NOVA_WEIGHT_');
  const keys = Object.keys(novaOptions) as (keyof NovaConfig)[];
  const key = keys.find((one) => novaOptions[one].env === env);
  if (key === undefined) throw invalidArgument('bad_what_if', `${change.name} is no setting of a scheduler for Nova`);
  return { ...config, [key]: readConfig(novaOptions, { [env]: change.value })[key] };
}

async function reconstruct(replay: NovaReplay, entry: NovaDecideEntry, config: NovaConfig): Promise<Reconstructed> {
  const { result, queries, found, verdicts } = await replay.decide(entry, config);
  const refusals = new Refusals();
  const { facts, mirror: view } = replay;
  const [query] = queries;
  if (query !== undefined) explainNoCandidates(query, found, { view, facts }, { refusals, verdicts });
  const all = (verdicts?.all() ?? []).map((one): HostVerdict => {
    const common = { host: one.host, roomCosts: [] };
    if (one.kind === 'weighed')
      return { ...common, passed: true, refusals: [], weight: one.weight, weights: one.weights };
    return { ...common, passed: false, refusals: [`${one.step}: ${one.reason}`], weight: 0, weights: {} };
  });
  const hosts = all.toSorted(
    (a, b) => Number(b.passed) - Number(a.passed) || b.weight - a.weight || (a.host < b.host ? -1 : 1),
  );
  const hostsPassed = hosts.filter(({ passed }) => passed).length;
  const diagnosis = {
    hostsConsidered: facts.nodeCount,
    hostsPassed,
    claimConflicts: 0,
    filters: verdicts?.refusals().toFilters() ?? [],
    summary: `${hostsPassed} of ${counted(facts.nodeCount, 'host')} pass`,
    quotaExceeded: [],
  };
  return { outcome: novaOutcomeOf(result), diagnosis, hosts };
}
