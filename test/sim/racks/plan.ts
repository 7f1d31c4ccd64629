import { type Action, drawPlan, type Kind, kind } from '../world/draw-plan';
import { faultsOf, usualFaults } from '../world/faults';
import {
  build,
  buildAtOnce,
  buildInGroup,
  deleteGuarantee,
  hostDies,
  hostDisabled,
  machineShrinks,
  novaClaims,
  novaReleases,
  setGuarantee,
  terminate,
} from './actions';
import type { RacksRun } from './racks-checker';
import { OTHERS, SERVICES } from './racks-world';

const faults = faultsOf<RacksRun>({
  services: SERVICES,
  senders: [...SERVICES, ...OTHERS],
  linkCount: 2,
  serversOf:
    () =>
    ({ fleet }) =>
      fleet,
});

/** Kinds of actions on hosts in racks. */
const KINDS = {
  'set a guarantee': kind(1, 12, setGuarantee),
  'delete a guarantee': kind(0.3, 3, deleteGuarantee),
  build: kind(1, 40, build),
  'build at once': kind(0.7, 14, buildAtOnce),
  'build in a group': kind(0.5, 10, buildInGroup),
  terminate: kind(0.9, 20, terminate),
  'machine shrinks': kind(0.5, 8, machineShrinks),
  'nova claims': kind(0.5, 8, novaClaims),
  'nova releases': kind(0.4, 5, novaReleases),
  'host disabled': kind(0.3, 4, hostDisabled),
  'host dies': kind(0.4, 4, hostDies),
  ...usualFaults(faults),
  'store away': kind(0.3, 4, faults.storeAway),
  'clock jumps': kind(0.3, 4, faults.clockJumps),
} satisfies Readonly<Record<string, Kind<RacksRun>>>;

export const KIND_NAMES = Object.keys(KINDS);

export function planOf(seed: number, actionCount: number, focus?: readonly string[]): Action<RacksRun>[] {
  return drawPlan<RacksRun>(KINDS, seed, actionCount, focus);
}
