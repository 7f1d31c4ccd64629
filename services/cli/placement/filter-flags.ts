import type { Command } from 'commander';
import { findProvider } from './find-provider';
import type { PlacementClient } from './placement-client';
import { parameter, type Query } from './placement-http';

/** Conditions on providers, as they are typed. */
export interface Filter {
  readonly resources?: string;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
  readonly memberOf: readonly string[];
  /** A UUID or a name. */
  readonly inTree?: string;
}

/** Adds the flags that say which providers are meant. Their values are Placement's own, so that it judges them. */
export function addFilterFlags(command: Command): Command {
  return command
    .option('--resources <CLASS:N,...>', 'with room for these amounts: VCPU:2,MEMORY_MB:1024')
    .option(
      '--required <TRAIT,...>',
      'with all of these traits, !TRAIT without; in:A,B is one of; may be given again',
      more,
      [],
    )
    .option('--forbidden <TRAIT,...>', 'with none of these traits; may be given again', more, [])
    .option('--member-of <UUID,...>', 'in one of these aggregates, !UUID in none; may be given again', more, [])
    .option('--in-tree <UUID|NAME>', 'in the tree of this provider');
}

/** The parser of flags that may be given again. */
export function more(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

/**
 * Conditions as parameters of a query; those of a request group end in its suffix.
 *
 * @throws BerthError `not_found` when the provider of `inTree` is not there, and what the client throws.
 */
export async function queryOf(client: PlacementClient, filter: Filter, suffix = ''): Promise<Query> {
  const { resources, required, forbidden, memberOf, inTree } = filter;
  const tree = inTree === undefined ? undefined : (await findProvider(client, inTree)).uuid;
  return [
    ...parameter(`resources${suffix}`, resources),
    ...parameter(`required${suffix}`, ...required, ...forbidden.map(negated)),
    ...parameter(`member_of${suffix}`, ...memberOf.map(aggregates)),
    ...parameter(`in_tree${suffix}`, tree),
  ];
}

function negated(traits: string): string {
  return traits
    .split(',')
    .map((trait) => `!${trait}`)
    .join(',');
}

/** Placement wants several of them announced: `in:UUID,UUID`. */
function aggregates(value: string): string {
  const [, not = '', listed = '', uuids = ''] = /^(!?)(in:)?(.*)$/s.exec(value) ?? [];
  return uuids.includes(',') ? `${not}in:${uuids}` : `${not}${listed}${uuids}`;
}
