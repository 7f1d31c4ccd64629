import type { Command, OptionValues } from '@commander-js/extra-typings';
import type { PlacementClient } from '../client/placement-client';
import { parameter, type Query } from '../client/placement-http';
import { findProvider } from '../client/providers';
import { repeatable } from './repeatable-flag';

/** Conditions on providers, unparsed. */
export interface Filter {
  readonly resources?: string | undefined;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
  readonly memberOf: readonly string[];
  /** A UUID or a name. */
  readonly inTree?: string | undefined;
}

/** Adds the flags that filter providers. Placement validates their values. */
export function addFilterFlags<Flags extends OptionValues>(command: Command<[], Flags>) {
  return (
    command
      // `String`, because the types take `,...` for several arguments; commander does not.
      .option('--resources <CLASS:N,...>', 'with room for these amounts: VCPU:2,MEMORY_MB:1024', String)
      .addOption(
        repeatable('--required <TRAIT,...>', 'with all of these traits, !TRAIT without; in:A,B is one of', String),
      )
      .addOption(repeatable('--forbidden <TRAIT,...>', 'with none of these traits', String))
      .addOption(repeatable('--member-of <UUID,...>', 'in one of these aggregates, !UUID in none', String))
      .option('--in-tree <UUID|NAME>', 'in the tree of this provider')
  );
}

/**
 * The conditions as query parameters; names of a request group's parameters end in its suffix.
 *
 * @throws BerthError `not_found` when the provider of `inTree` does not exist, and errors of the client.
 */
export async function queryOf(client: PlacementClient, filter: Partial<Filter>, suffix = ''): Promise<Query> {
  const { resources, required = [], forbidden = [], memberOf = [], inTree } = filter;
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
