/* The part of replays that others use. */

export type { DecisionOutcome } from '../scheduler/flight/entries';
export { exportRecord, importRecord } from './archive';
export { explainPast, type PastExplained, type Reconstructed } from './explain-past';
export { type Moment, segmentsOf, verifyRecord } from './records';
export type { LaterDecision, Regret } from './regret';
export { trafficOf } from './traffic';
export { parseWhatIf, type WhatIf } from './what-if';
