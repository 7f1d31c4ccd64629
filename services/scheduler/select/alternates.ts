import { Walk } from '../ranking/walk';
import type { Picker, Place } from './picker';

/**
 * The next best hosts for an instance that goes to `selected`: distinct, of the same cell, best first, as if all picks of
 * the request were placed and this instance were not. They are not held: whoever needs one claims it then.
 */
export function alternatesFor(selected: Place, count: number, picker: Picker): readonly Place[] {
  if (count === 0) return [];
  const { request, ranking, fleet } = picker;
  request.members?.remove(selected.host.index);
  const walk = new Walk(ranking, picker.personal(), picker.random);
  const alternates: Place[] = [];
  for (let step = walk.next(); step !== undefined && alternates.length < count; step = walk.next()) {
    const host = fleet.at(step.index);
    if (!host || host.index === selected.host.index || host.host.cell !== selected.host.host.cell) continue;
    const candidate = ranking.candidateOn(host);
    if (candidate) alternates.push({ host, candidate });
  }
  request.members?.add(selected.host.index);
  return alternates;
}
