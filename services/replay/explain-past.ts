import type { Diagnosis, HostVerdict } from '#libs/contracts/diagnosis';
import type { Resources } from '#libs/domain/inventory';
import type { SelectRequest } from '../scheduler/decision/complete-request';
import { type DecideParts, decide } from '../scheduler/decision/decide';
import { startDecision } from '../scheduler/decision/start-decision';
import { verdictOn } from '../scheduler/decision/verdict';
import { NO_PRICES } from '../scheduler/demand/prices';
import type { DecideEntry, DecisionOutcome } from '../scheduler/flight/entries';
import { outcomeOf } from '../scheduler/flight/outcome-of';
import { Judgement } from '../scheduler/ranking/judgement';
import { findDecision, type Moment, type Positioned, positionAt } from './records';
import { type Regret, regretOf } from './regret';
import { partsWith, type WhatIf } from './what-if';

/** A decision with the hosts on which it was made. */
export interface Reconstructed {
  readonly outcome: DecisionOutcome;
  readonly diagnosis: Diagnosis | undefined;
  /** All hosts: those that pass first, by weight. */
  readonly hosts: readonly HostVerdict[];
}

/** A past decision, made again; and as it would have been. */
export interface PastExplained extends Reconstructed {
  readonly segment: string;
  /** The version of Berth that decided. */
  readonly version: string;
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
  readonly resources: Resources;
  readonly decidedAtMs: number;
  readonly revision: number;
  /** As it was recorded; the same as `outcome` if `isSame`. */
  readonly recorded: DecisionOutcome;
  readonly isSame: boolean;
  readonly instead: (Reconstructed & { readonly regret: Regret }) | undefined;
}

/** Which decision, and what is taken to have been otherwise. */
export interface AskedPast {
  /** An instance, or a request. */
  readonly uuid: string;
  readonly moment?: Moment | undefined;
  readonly changes: readonly WhatIf[];
  /** So many later decisions are made again for the regret. */
  readonly horizon: number;
}

/**
 * Makes a recorded decision again, on the fleet as its scheduler saw it.
 *
 * @throws BerthError `not_found / no_such_decision`, `/ no_such_host`, `/ no_such_filter`; `invalid_argument / unreadable_folder`;
 *   `failed_precondition / other_format`
 */
export async function explainPast(
  folder: string,
  { uuid, moment, changes, horizon }: AskedPast,
): Promise<PastExplained> {
  const found = findDecision(folder, uuid, moment);
  let positioned = await positionAt(found, false);
  let again = isSame(positioned);
  if (!again) {
    await positioned.replay.close();
    positioned = await positionAt(found, true);
    again = isSame(positioned);
  }
  const { replay, entry } = positioned;
  try {
    const request = replay.requestOf(entry);
    const now = reconstruct(request, entry, replay.scene.with(replay.scene.config));
    const instead = changes.length === 0 ? undefined : otherwise(positioned, changes);
    const choice = { decidedAtMs: entry.attempt.nowMs, was: entry.outcome, instead: instead?.outcome ?? entry.outcome };
    const regret = await regretOf(folder, choice, horizon);
    return {
      ...now,
      segment: found.segment.path,
      version: replay.segment.version,
      requestId: entry.request.requestId,
      instanceUuids: entry.request.instanceUuids,
      resources: request.spec.resources,
      decidedAtMs: entry.attempt.nowMs,
      revision: entry.revision,
      recorded: entry.outcome,
      isSame: again,
      instead: instead && { ...instead, regret },
    };
  } finally {
    await replay.close();
  }
}

function isSame({ replay, entry }: Positioned): boolean {
  return replay.again(entry).isSame;
}

function otherwise({ replay, entry }: Positioned, changes: readonly WhatIf[]): Reconstructed {
  const parts = partsWith(replay.scene, changes);
  return reconstruct(replay.requestOf(entry), entry, parts);
}

function reconstruct(request: SelectRequest, { attempt }: DecideEntry, parts: DecideParts): Reconstructed {
  const decision = decide(request, attempt, parts);
  const { snapshot, constraints, equivalenceClass } = startDecision(request, attempt, parts);
  const judgement = new Judgement(equivalenceClass, parts.settings, parts.pricing.prices);
  const hosts: HostVerdict[] = [];
  snapshot.hosts.forEach((_, host) => {
    hosts.push(verdictOn(host, equivalenceClass, { judgement, constraints, prices: NO_PRICES }));
  });
  hosts.sort((a, b) => Number(b.passed) - Number(a.passed) || b.weight - a.weight || (a.host < b.host ? -1 : 1));
  const diagnosis = decision.kind === 'refused' ? decision.diagnosis : decision.basis?.diagnosis;
  return { outcome: outcomeOf(decision), diagnosis, hosts };
}
