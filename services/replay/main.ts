/* The part of replays that others use. */

export type { DecisionOutcome } from '../scheduler/flight/entries';
export { exportRecord, importRecord } from './archive';
export { explainPast } from './explain-past';
export type { PastExplained, Reconstructed } from './explained';
export { type Moment, segmentsOf, verifyRecord } from './records';
export type { LaterDecision, Regret } from './regret';
export { trafficOf } from './traffic';
export { parseWhatIf, type WhatIf } from './what-if';
