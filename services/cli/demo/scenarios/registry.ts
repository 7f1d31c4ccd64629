import { heal } from './heal';
import { preempt } from './preempt';
import type { Scenario } from './stage';

/** Every scenario of `berth demo --scenario`; adding one is a line here. */
export const SCENARIOS: readonly Scenario[] = [heal, preempt];
