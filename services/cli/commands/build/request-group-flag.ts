import { InvalidArgumentError } from '@commander-js/extra-typings';
import { isUuid } from '#libs/domain/names';
import { hintFor, isResourceClass, isTrait } from '#libs/domain/naming/known-names';
import type { RequestGroup } from '#libs/domain/request-spec';
import { amountsIn, parseGroup } from '../group-flag';
import { amount } from '../number-flags';

/** The parser of `--request-group`: the syntax of `berth candidates --group`, for a request spec. */
export function parseRequestGroup(text: string, before: readonly RequestGroup[]): RequestGroup {
  const { suffix, resources = '', required, forbidden, memberOf, inTree } = parseGroup(text, before);
  const traits = required.map(parseNames);
  const aggregates = memberOf.map(parseNames);
  return {
    suffix,
    resources: Object.fromEntries(amountsIn(resources).map(amountOf)),
    requiredTraits: traits.flatMap(({ anyOf, each }) => [...anyOf, ...each.map((trait) => [trait])]).map(asTraits),
    forbiddenTraits: asTraits([...traits.flatMap(({ not }) => not), ...forbidden.flatMap((value) => value.split(','))]),
    // Several aggregates in one value mean any of them, as in Placement.
    memberOf: aggregates.flatMap(({ anyOf, each }) => (each.length > 0 ? [...anyOf, each] : anyOf)).map(asUuids),
    forbiddenAggregates: asUuids(aggregates.flatMap(({ not }) => not)),
    inTree: inTree === undefined ? undefined : asUuids([inTree])[0],
  };
}

/** `A,!B` or `in:A,B`. */
function parseNames(value: string): { anyOf: string[][]; each: string[]; not: string[] } {
  if (value.startsWith('in:')) return { anyOf: [value.slice(3).split(',')], each: [], not: [] };
  const names = value.split(',');
  return {
    anyOf: [],
    each: names.filter((name) => !name.startsWith('!')),
    not: names.filter((name) => name.startsWith('!')).map((name) => name.slice(1)),
  };
}

function amountOf(text: string): [string, number] {
  const [name = '', value = ''] = text.split(':');
  if (!isResourceClass(name)) {
    throw new InvalidArgumentError(`There is no resource class '${name}'; ${hintFor(name, 'resource class')}.`);
  }
  return [name, amount(value)];
}

function asTraits(names: readonly string[]): readonly string[] {
  const wrong = names.find((name) => !isTrait(name));
  if (wrong !== undefined) throw new InvalidArgumentError(`There is no trait '${wrong}'; ${hintFor(wrong, 'trait')}.`);
  return names;
}

function asUuids(texts: readonly string[]): readonly string[] {
  const wrong = texts.find((text) => !isUuid(text.toLowerCase()));
  if (wrong !== undefined) throw new InvalidArgumentError(`'${wrong}' is no UUID.`);
  return texts.map((text) => text.toLowerCase());
}
