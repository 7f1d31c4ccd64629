import type { Diagnosis, SelectDestinationsRequest } from '#libs/contracts/messages';
import type { Random } from '#libs/domain/random';
import type { Fleet } from '../fleet/fleet';
import type { PendingClaim } from '../fleet/pending-claims';
import type { Rankings } from '../ranking/rankings';
import type { SelectSettings } from '../settings';
import { standingOf } from './held-claims';
import { type Pick, Picker, type Place } from './picker';
import { translate } from './translate';

/** Where one instance goes and where it can go else. */
export interface Placement {
  readonly instanceUuid: string;
  readonly selected: Place;
  readonly alternates: readonly Place[];
  /** The token of the claim that it holds already; undefined when it is yet to be claimed. */
  readonly claimRevision: number | undefined;
}

/** Hosts for all instances of a request, or none and why. What is to be claimed counts as pending until it is settled. */
export type Decision =
  | {
      readonly kind: 'decided';
      readonly placements: readonly Placement[];
      readonly toClaim: readonly Pick[];
      readonly pending: readonly PendingClaim[];
    }
  | { readonly kind: 'refused'; readonly diagnosis: Diagnosis };

/**
 * One decision, start to end, on what the fleet shows now: translate the request, look who holds a claim already, rank
 * the hosts (filter and weigh), pick one for each instance that needs it, name alternates for all.
 */
export function decide(
  { requestSpec: spec, instanceUuids, numAlternates }: SelectDestinationsRequest,
  random: Random,
  {
    fleet,
    rankings,
    settings,
  }: { readonly fleet: Fleet; readonly rankings: Rankings; readonly settings: SelectSettings },
): Decision {
  const { claimed, needy } = standingOf(instanceUuids, spec, fleet);
  const { request, shape } = translate(spec, needy, fleet);
  const picker = new Picker(fleet, request, rankings.of(shape), random, settings);

  const picked = picker.pickAll(needy);
  if (picked.kind === 'refused') return picked;

  // They come in the order of those who need one.
  let taken = 0;
  const nextPick = () => picked.picks[taken++] as Pick;
  const placements = instanceUuids.map((instanceUuid): Placement => {
    const before = claimed.get(instanceUuid);
    const selected = before?.place ?? nextPick();
    const alternates = numAlternates === 0 ? [] : alternatesTo(selected, numAlternates, picker);
    return { instanceUuid, selected, alternates, claimRevision: before?.claimRevision };
  });
  return { kind: 'decided', placements, toClaim: picked.picks, pending: picked.pending };
}

/**
 * Where an instance can go when its host fails: distinct hosts of the same cell, best first. They are not claimed;
 * whoever needs one claims it then.
 */
function alternatesTo({ host: selected }: Place, count: number, picker: Picker): readonly Place[] {
  return picker.bestBeside(selected.index, count, ({ host }) => host.cell === selected.host.cell);
}
