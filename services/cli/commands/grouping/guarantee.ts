import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { brokenLossText, guaranteeScope, guaranteeState, headroomLines } from '#libs/contracts/guarantee-words';
import type { GuaranteeStatus, HeadroomView } from '#libs/contracts/guarantees';
import { GUARANTEE_POLICIES, type GuaranteePolicy, lossText, MAX_LOST_AT_ONCE } from '#libs/domain/grouping/guarantee';
import { answerCommand, showAnswer } from '../../answers/answer';
import { changes, noun } from '../../answers/declared';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show what may be lost now, what would not be taken in, and how many more of a flavor fit.')
    .argument('[name]', 'one guarantee; all without')
    .option('--flavor <name>', 'how many more instances of this flavor fit while all guarantees hold');
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      const { guarantees, headroom } = await client.guarantees(name ?? '', flags.flavor);
      return {
        plain: { guarantees, ...(headroom ? { headroom } : {}) },
        names: guarantees.map(({ guarantee }) => guarantee.name),
        draw: (terminal) => draw(terminal, guarantees, flags.flavor, headroom),
      };
    }),
  );
  return addHelp(command, [
    ['berth guarantee show', 'each guarantee, and whether it holds'],
    ['berth guarantee show --flavor small', 'also how many more small instances fit, and what breaks first'],
  ]);
}

const setCommand = changes({
  name: 'set',
  does: 'Guarantee that so many hosts, racks or zones may be lost: every instance in them keeps a place elsewhere.',
  takes: (command: Command) =>
    command
      .requiredOption('--lose <what...>', 'how many at once and of what: 1 rack, 2 hosts, 1 zone', ofWhat)
      .option('--name <name>', 'its name; made of what is lost without')
      .option('--aggregate <name>', 'only hosts of this aggregate and their instances')
      .option('--min-priority <n>', 'only instances of this priority or a higher one', wholeNumber, 0)
      .option(
        '--policy <policy>',
        'refuse: requests that would break it find no host; flag: they are placed',
        policyOf,
      ),
  async call(client, { lose: words, name, aggregate = '', minPriority, policy = 'refuse' }) {
    const [count, lose] = lossOf(words);
    const made = `${count}-${lose}${aggregate === '' ? '' : `-${aggregate.replace(/[^\w.-]/g, '-')}`}`;
    return client.setGuarantee({ name: name ?? made, lose, count, aggregate, minPriority, policy });
  },
  print: ({ terminal }, status: GuaranteeStatus) => draw(terminal, [status]),
  examples: [
    ['berth guarantee set --lose 1 rack', 'any one rack, by the metadata rack of host aggregates'],
    ['berth guarantee set --lose 2 hosts --aggregate gold --min-priority 10', 'any two gold hosts, for what matters'],
    ['berth guarantee set --lose 1 zone --policy flag', 'placed all the same, and counted'],
  ],
});

const deleteCommand = changes({
  name: 'delete',
  does: 'End a guarantee.',
  takes: (command: Command) => command.alias('unset').argument('<name>', 'its name'),
  async call(client, _, name) {
    await client.deleteGuarantee(name);
    return { name };
  },
  print: ({ terminal }, { name }) => terminal.print(`guarantee ${name} is deleted`),
  examples: [['berth guarantee delete 1-rack', 'nothing is kept for the loss of a rack any more']],
});

/** `berth guarantee show | set | delete` */
export const guaranteeCommand = noun('guarantee', [showCommand, setCommand, deleteCommand]);

/** The words of `--lose`, each checked by itself. */
function ofWhat(word: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), word];
}

/** @throws BerthError `invalid_argument / usage` unless it is a number and a word. */
function lossOf(words: readonly string[]): readonly [count: number, lose: string] {
  const [number = '', word = '', ...more] = words.flatMap((one) => one.split(/\s+/));
  const count = Number(number);
  if (!Number.isInteger(count) || count < 1 || count > MAX_LOST_AT_ONCE || word === '' || more.length > 0) {
    throw usageError(`--lose takes a number from 1 to ${MAX_LOST_AT_ONCE} and what is lost`, 'say --lose 1 rack');
  }
  return [count, PLURALS[word] ?? word];
}

const PLURALS: Readonly<Record<string, string>> = { hosts: 'host', racks: 'rack', zones: 'zone' };

function wholeNumber(text: string): number {
  if (/^-?\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function policyOf(text: string): GuaranteePolicy {
  const known = GUARANTEE_POLICIES.find((one) => one === text);
  if (known) return known;
  throw new InvalidArgumentError(`It must be ${GUARANTEE_POLICIES.join(' or ')}.`);
}

const HEAD = ['NAME', 'LOSE', 'OF', 'POLICY', 'INSTANCES', 'HOLDS FOR', 'STATE'];

function draw(
  terminal: Terminal,
  guarantees: readonly GuaranteeStatus[],
  flavor?: string,
  headroom?: HeadroomView,
): void {
  if (guarantees.length === 0) terminal.print('there are no guarantees');
  else terminal.print(table(terminal, HEAD, guarantees.map(rowOf)));
  for (const { guarantee, broken } of guarantees) {
    for (const one of broken) terminal.print(`${guarantee.name}: ${brokenLossText(one)}`);
  }
  if (headroom) terminal.print(`\n${headroomLines(headroom, flavor ?? '').join('\n')}`);
}

function rowOf(status: GuaranteeStatus) {
  const { guarantee, losses, kept, instances } = status;
  const { name, policy } = guarantee;
  const of = guaranteeScope(status);
  return [name, lossText(guarantee), of, policy, instances, `${kept} of ${losses}`, guaranteeState(status)];
}
