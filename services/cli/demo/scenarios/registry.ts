import { drain } from './drain';
import { evacuate } from './evacuate';
import { heal } from './heal';
import { resize } from './resize';
import type { Scenario } from './stage';

/** Every scenario of `berth demo --scenario`; adding one is a line here. */
export const SCENARIOS: readonly Scenario[] = [drain, evacuate, heal, resize];
