import type { HostVerdict } from '#libs/contracts/diagnosis';
import type { SelectRequest } from '../scheduler/decision/complete-request';
import { type DecideParts, decide } from '../scheduler/decision/decide';
import { startDecision } from '../scheduler/decision/start-decision';
import { verdictOn } from '../scheduler/decision/verdict';
import { NO_PRICES } from '../scheduler/demand/prices';
import type { DecideEntry } from '../scheduler/flight/entries';
import { outcomeOf } from '../scheduler/flight/outcome-of';
import { Judgement } from '../scheduler/ranking/judgement';
import type { PastExplained, Reconstructed } from './explained';
import { explainNova } from './nova/explain-nova';
import { findDecision, type Moment, type Positioned, positionAt } from './records';
import { regretOf } from './regret';
import { partsWith, type WhatIf } from './what-if';

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
  if (found.isForNova) return explainNova(found, changes);
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
