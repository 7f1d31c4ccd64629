import type { Command } from 'commander';
import type { PlacementClient } from '../client/placement-client';
import { parameter, type Query } from '../client/placement-http';
import { findProvider } from '../client/providers';

/** Conditions on providers, as typed. */
export interface Filter {
  readonly resources?: string;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
  readonly memberOf: readonly string[];
  /** A UUID or a name. */
  readonly inTree?: string;
}

/** Adds the flags that filter providers. Their values are passed on as they are: Placement validates them. */
export function addFilterFlags(command: Command): Command {
  return command
    .option('--resources <CLASS:N,...>', 'with room for these amounts: VCPU:2,MEMORY_MB:1024')
    .option(
      '--required <TRAIT,...>',
      'with all of these traits, !TRAIT without; in:A,B is one of; may be given again',
      collect,
      [],
    )
    .option('--forbidden <TRAIT,...>', 'with none of these traits; may be given again', collect, [])
    .option('--member-of <UUID,...>', 'in one of these aggregates, !UUID in none; may be given again', collect, [])
    .option('--in-tree <UUID|NAME>', 'in the tree of this provider');
}

/** The parser of flags that may be repeated. */
export function collect(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

/**
 * The conditions as query parameters; names of a request group's parameters end in its suffix.
 *
 * @throws BerthError `not_found` when the provider of `inTree` does not exist, and what the client throws.
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

/** Placement requires the prefix `in:` before several UUIDs. */
function aggregates(value: string): string {
  const [, not = '', listed = '', uuids = ''] = /^(!?)(in:)?(.*)$/s.exec(value) ?? [];
  return uuids.includes(',') ? `${not}in:${uuids}` : `${not}${listed}${uuids}`;
}
