import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { missing, name, uuidsUpTo } from './checks';
import type { EncodedRequestSpec } from './codec';
import type { Conversion } from './field';
import { ruled, SET } from './field-rules';
import { count, enumOf, list, omittable, optional } from './fields';
import { MAX_FURTHER_KINDS, MAX_INSTANCES_PER_REQUEST } from './limits';
import { message, type PlainOf } from './message';
import { requestSpec, requestSpecCodec } from './request-spec';

/** A checked spec inside a message that is not its own, encoded anew: equal specs have equal bytes. */
const innerSpec: Conversion<EncodedRequestSpec, berth.scheduler.v1.IRequestSpec | null | undefined> = ruled(SET, {
  fromWire(value: berth.scheduler.v1.IRequestSpec | null | undefined, path: string) {
    if (value === null || value === undefined) throw missing(path);
    return requestSpecCodec.encode(requestSpec.fromWire(value, path));
  },
  toWire: (encoded: EncodedRequestSpec) => requestSpec.toWire(requestSpecCodec.decode(encoded)),
});

/** Policy of a gang for losses; undefined for none. */
export const onLoss = optional(enumOf(berth.conductor.v1.OnLoss, 'ON_LOSS'));

/** Instances of one kind; 0 stands for 1. */
export const instanceCount = ruled({ lte: MAX_INSTANCES_PER_REQUEST }, (value: number, path: string): number => {
  if (value <= MAX_INSTANCES_PER_REQUEST) return value || 1;
  throw invalidArgument('too_many', `${path} may be at most ${MAX_INSTANCES_PER_REQUEST}`, path);
});

const gangMembers = message(berth.conductor.v1.GangMembers, {
  requestSpec: innerSpec,
  count: instanceCount,
  name: omittable(name),
  minCount: omittable(count),
});
export type GangMembers = PlainOf<typeof gangMembers>;

/** Kinds of members of a build request besides its first. */
export const furtherMembers = optional(list(gangMembers, MAX_FURTHER_KINDS));

const memberKind = message(berth.scheduler.v1.MemberKind, {
  requestSpec: innerSpec,
  instanceUuids: uuidsUpTo(MAX_INSTANCES_PER_REQUEST),
  minCount: omittable(count),
});
export type MemberKind = PlainOf<typeof memberKind>;

/** Kinds of instances of a selection besides its first. */
export const furtherKinds = optional(list(memberKind, MAX_FURTHER_KINDS));

/** Fields of a build request that say its kinds. */
export interface AskedKinds {
  readonly requestSpec: EncodedRequestSpec;
  readonly count: number;
  readonly name: string;
  readonly minCount?: number | undefined;
  readonly furtherMembers?: readonly GangMembers[] | undefined;
}

/** One kind of a build request. `minCount` is 0 where the instances are no gang; `from` is the place of its first instance among all. */
export interface Kind {
  readonly requestSpec: EncodedRequestSpec;
  readonly count: number;
  readonly minCount: number;
  readonly name: string;
  readonly from: number;
}

/** The kinds of a build request, the first one first. With several each is a gang of its own, all of it unless it says less. */
export function kindsOf({
  requestSpec: spec,
  count: first,
  name: base,
  minCount,
  furtherMembers: further = [],
}: AskedKinds): Kind[] {
  const kinds: Kind[] = [];
  let from = 0;
  for (const [n, kind] of [{ requestSpec: spec, count: first, name: base, minCount }, ...further].entries()) {
    const least = minimumOf(kind, further.length > 0);
    const called = kind.name || (n > 0 && base ? `${base}-kind${n + 1}` : '');
    kinds.push({ requestSpec: kind.requestSpec, count: kind.count, minCount: least, name: called, from });
    from += kind.count;
  }
  return kinds;
}

/** Members of a kind that must become ACTIVE: all where several kinds are one gang and it names no number; 0 where it is no gang. */
export function minimumOf(
  { count: ofKind, minCount = 0 }: { readonly count: number; readonly minCount?: number | undefined },
  isOneOfSeveral: boolean,
): number {
  return minCount || (isOneOfSeveral ? ofKind : 0);
}

/** The number of instances of all kinds. */
export function countOfAll({
  count: first,
  furtherMembers: further = [],
}: Pick<AskedKinds, 'count' | 'furtherMembers'>): number {
  return further.reduce((sum, kind) => sum + kind.count, first);
}

/** Refuses more instances than a request may have, before any is named. @throws BerthError `invalid_argument / too_many`. */
export function checkCountOfAll(wanted: number): void {
  if (wanted <= MAX_INSTANCES_PER_REQUEST) return;
  throw invalidArgument('too_many', `count may be at most ${MAX_INSTANCES_PER_REQUEST}`, 'count');
}

/** @throws BerthError `invalid_argument / duplicate_uuid` when two kinds name the same instance. */
export function checkDistinctKinds(instanceUuids: readonly string[], further: readonly MemberKind[]): void {
  const all = [...instanceUuids, ...further.flatMap((kind) => kind.instanceUuids)];
  if (all.length > MAX_INSTANCES_PER_REQUEST) {
    throw invalidArgument(
      'too_many',
      `all kinds may have at most ${MAX_INSTANCES_PER_REQUEST} instances`,
      'further_kinds',
    );
  }
  if (new Set(all).size === all.length) return;
  throw invalidArgument('duplicate_uuid', 'two kinds name the same uuid', 'further_kinds');
}
