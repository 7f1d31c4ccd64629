import type { SelectRequest } from '../complete-request';

/** A request for each kind of members: the same request with that kind's spec and instances. */
export function requestsByKind(asked: SelectRequest): SelectRequest[] {
  if (asked.furtherKinds === undefined) return [asked];
  const { furtherKinds, ...request } = asked;
  return [request, ...furtherKinds.map((kind) => ({ ...request, minCount: 0, ...kind }))];
}

/** A request of these kinds, the first of them first. */
export function requestOfKinds([first, ...further]: readonly SelectRequest[]): SelectRequest {
  if (further.length === 0) return first as SelectRequest;
  const furtherKinds = further.map(({ spec, equivalenceClass, instanceUuids, minCount }) => {
    return { spec, equivalenceClass, instanceUuids, minCount };
  });
  return { ...(first as SelectRequest), furtherKinds };
}

/** The instances of all kinds, kind by kind. */
export function instancesOf({ instanceUuids, furtherKinds }: Pick<SelectRequest, 'instanceUuids' | 'furtherKinds'>) {
  if (furtherKinds === undefined) return instanceUuids;
  return [...instanceUuids, ...furtherKinds.flatMap((kind) => kind.instanceUuids)];
}
