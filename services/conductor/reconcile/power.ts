import { isAfter } from '#libs/domain/host-position';
import type { Instance, InstanceState, PowerState } from '#libs/domain/instance';
import { isOfPresentPlace } from '../evidence';
import type { Observation, RunningAt } from '../observation';
import type { Step } from '../step';
import { isOverdue, none, wait } from './shared-steps';

/*
 * Stopping an instance and starting it again. It keeps its host and its claim all the while.
 */

/** A client wants it stopped, or started. */
export function powerRequested(record: Instance, wanted: PowerState): Step {
  switch (record.state) {
    case 'active':
    case 'unknown':
      return wanted === 'shutdown' ? { kind: 'record_power_change', state: 'stopping' } : none('at rest');
    case 'stopped':
      return wanted === 'running' ? { kind: 'record_power_change', state: 'starting' } : none('at rest');
    default:
      return none('at rest');
  }
}

/** Its host says how it is, after it was ordered to change that: news only if nothing later is known. */
export function powerReported(record: Instance, report: PowerReported): Step {
  // In answer to an order of a move that is over.
  if (report.migrationUuid !== '') return none('late report');
  if (!isOfPresentPlace(record, report) || !isNews(record, report)) return none('late report');
  const at = isAfter(report.at, record.activeAt) ? report.at : record.activeAt;
  if (report.powerState === wantedOf(record.state)) return asWanted(record, at);
  switch (record.state) {
    case 'stopping':
      return { kind: 'record_position', at };
    case 'starting':
      return report.fault ? { kind: 'record_stopped', at, fault: report.fault } : { kind: 'record_position', at };
    default:
      return asItIs(report.powerState, at);
  }
}

/** A report of its host says how it is: undefined when that says no more than is known. */
export function powerSeen({ state }: Instance, { at, instance: { powerState = 'running' } }: RunningAt) {
  if (powerState !== wantedOf(state)) return isChanging(state) ? undefined : asItIs(powerState, at);
  return isChanging(state) || state === 'unknown' ? asItIs(powerState, at) : undefined;
}

/** Its host was told, or should have been: it is told again when its time has passed, unless it is silent. */
export function changing(record: Instance, observed: Observation, nowMs: number): Step {
  if (observed.kind === 'interrupted')
    return { kind: 'set_power_state', powerState: wantedOf(record.state), isFirst: true };
  if (observed.kind !== 'nothing' || !isOverdue(record, nowMs)) return wait(record);
  return { kind: 'set_power_state', powerState: wantedOf(record.state), isFirst: false };
}

/**
 * A store that went back in time may have forgotten that it was started: its host, told once more, says how it is. (What a
 * store has forgotten to be stopped, reports show.)
 */
export function auditedPower({ state }: Instance, step: Step): Step {
  const isAtRest = state === 'stopped' && step.kind === 'none';
  return isAtRest ? ASK_POWER : step;
}

/** An order to stop what is on record as stopped: its host says how it is, and stops nothing that it has started since. */
export const ASK_POWER: Step = { kind: 'set_power_state', powerState: 'shutdown', isFirst: false };

/** True while a host changes the power state. */
export function isChanging(state: InstanceState): boolean {
  return state === 'stopping' || state === 'starting';
}

type PowerReported = Extract<Observation, { kind: 'power_reported' }>;

/**
 * Said after what is known; or in answer to an order that rests on it. (A host that once said a position from far ahead would
 * not be heard otherwise until its next epoch.)
 */
export function isNews({ activeAt }: Instance, { at, restsOn }: PowerReported): boolean {
  if (isAfter(at, activeAt)) return true;
  return restsOn.epoch === activeAt?.epoch && restsOn.position === activeAt.position;
}

function wantedOf(state: InstanceState): PowerState {
  return state === 'stopping' || state === 'stopped' ? 'shutdown' : 'running';
}

function asWanted({ state }: Instance, at: Instance['activeAt']): Step {
  if (state === 'stopping') return { kind: 'record_stopped', at };
  return state === 'starting' || state === 'unknown' ? { kind: 'record_active', at } : none('at rest');
}

/** The host has the last word on what is. */
function asItIs(powerState: PowerState, at: Instance['activeAt']): Step {
  return powerState === 'shutdown'
    ? { kind: 'record_stopped', at, finding: 'found' }
    : { kind: 'record_active', at, finding: 'found' };
}
