import { baremetal } from './baremetal';
import { cells } from './cells';
import { devices } from './devices';
import { drain } from './drain';
import { evacuate } from './evacuate';
import { fairShare } from './fair-share';
import { gang } from './gang';
import { heal } from './heal';
import { guarantee } from './held/guarantee';
import { reservation } from './held/reservation';
import { preempt } from './preempt';
import { rehearse } from './rehearse';
import { replay } from './replay';
import { resize } from './resize';
import type { Scenario } from './stage';

/** Every scenario of `berth demo --scenario`; adding one is a line here. */
export const SCENARIOS: readonly Scenario[] = [
  baremetal,
  cells,
  devices,
  drain,
  evacuate,
  fairShare,
  gang,
  guarantee,
  heal,
  preempt,
  rehearse,
  replay,
  reservation,
  resize,
];
