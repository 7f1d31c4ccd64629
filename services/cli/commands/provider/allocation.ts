import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { BerthError } from '#libs/domain/errors';
import { requireUuid } from '#libs/domain/names';
import { type Answer, answerCommand, showAnswer } from '../../answers/answer';
import type { PlacementClient } from '../../client/placement-client';
import type { ConsumerDocument, ProviderDocument } from '../../client/placement-documents';
import { readTrees, withNames } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { compareClasses } from '../../views/fill';
import { placeOf } from '../../views/provider-table';
import { facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { compareNames } from '../../views/tree-table';

/** `berth allocation show` */
export function allocationCommand(context: Context): CommandUnknownOpts {
  return new Command('allocation').addCommand(showCommand(context));
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show the allocations of one consumer.')
    .argument('<consumer>', 'UUID of the consumer, such as an instance', (text) => requireUuid(text, 'consumer'));
  const read = async (client: PlacementClient, uuid: string): Promise<Answer> => {
    const consumer = await client.allocationsOf(uuid);
    if (Object.keys(consumer.allocations).length === 0) {
      const details = { hint: "'berth provider show' lists the consumers of a provider" };
      throw new BerthError('not_found', 'no_such_consumer', `nothing is allocated to ${uuid}`, { details });
    }
    const providers = await readTrees(client, Object.keys(consumer.allocations));
    return {
      plain: { ...consumer, allocations: withNames(consumer.allocations, providers) },
      names: [uuid],
      draw: (terminal) => show(terminal, uuid, consumer, providers),
    };
  };
  usePlacement(context, command, (client, flags, uuid) => showAnswer(context, flags, () => read(client, uuid)));
  return addHelp(command, [
    ['berth allocation show 6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11', 'what an instance holds, provider by provider'],
  ]);
}

function show(
  terminal: Terminal,
  uuid: string,
  consumer: ConsumerDocument,
  providers: ReadonlyMap<string, ProviderDocument>,
): void {
  const pairs: [string, string][] = [
    ['consumer', uuid],
    ['type', consumer.consumer_type ?? '-'],
    ['project / user', `${consumer.project_id ?? '-'} / ${consumer.user_id ?? '-'}`],
    ['generation', String(consumer.consumer_generation ?? '-')],
  ];
  terminal.print(facts(terminal, pairs));
  const holdings = Object.entries(consumer.allocations).map(([providerUuid, { resources }]) => {
    const provider = providers.get(providerUuid);
    const place = provider === undefined ? '-' : placeOf(provider, providers);
    return { name: provider?.name ?? providerUuid, place, resources };
  });
  const rows = holdings.sort(compareNames).flatMap(({ name, place, resources }) =>
    Object.entries(resources)
      .sort(([a], [b]) => compareClasses(a, b))
      .map(([resourceClass, amount], i) => [i === 0 ? name : '', i === 0 ? place : '', resourceClass, amount]),
  );
  terminal.print(`\n${table(terminal, ['PROVIDER', 'UNDER', 'CLASS', 'HOLDS'], rows)}`);
}
