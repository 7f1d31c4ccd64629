import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { ExplainResponse } from '#libs/contracts/diagnosis';
import { EXIT } from '#libs/runtime/exit-codes';
import { addAnswerFlags, showAnswer } from '../../answers/answer';
import { clientSettings } from '../../client/client-options';
import { meantInstance, NAMED } from '../../client/meant';
import { ownProject, withClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { type Terminal, wrapped } from '../../views/terminal';
import { amount } from '../number-flags';
import { asPriority } from './admission-flags';
import { addRequestFlags, requestSpecOf, withMeantInstances } from './request-flags';
import { showDecision } from './show-decision';
import { showDiagnosis, showHosts, showRoomCosts, showZones } from './show-explanation';

/** `berth explain`: a decision as a dry run, with the reasons of every refusal. */
export function explainCommand(context: Context): CommandUnknownOpts {
  const asking = addRequestFlags(new Command('explain'))
    .optionsGroup('What to explain:')
    .option('--instance <instance>', `instead of a request: why this instance is where it is; ${NAMED}`)
    .option('--host <name>', 'why, or why not, this host', '')
    .option('--limit <n>', 'best hosts to list', amount, 10)
    .option('--priority <n>', 'with --preempt: who comes first', asPriority, 0)
    .option('--preempt', 'when no host fits: whose place it would take', false);
  const command = addAnswerFlags(asking);
  addSettingFlags(command, clientSettings).action(async (flags) => {
    const { instance, host, limit, priority, preempt: mayPreempt } = flags;
    if (instance !== undefined) {
      return withClient(context, command, async (client) => {
        const uuid = await meantInstance(client, instance);
        const decision = await client.explainInstance(uuid);
        const draw = (terminal: Terminal) => showDecision({ ...context, terminal }, uuid, decision);
        await showAnswer(context, flags, async () => ({ plain: decision, names: [uuid], draw }));
      });
    }
    const asked = requestSpecOf(flags, [], ownProject(context, command));
    await withClient(context, command, async (client) => {
      const spec = await withMeantInstances(client, asked);
      const answer = await client.explain(spec, { host, limit, priority, mayPreempt });
      const fitting = answer.hosts.filter(({ passed }) => passed).map((one) => one.host);
      const draw = (terminal: Terminal) => show(terminal, answer);
      await showAnswer(context, flags, async () => ({ plain: answer, names: fitting, draw }));
      if (fitting.length === 0) context.exit(EXIT.failed);
    });
  });
  return addHelp(
    command,
    [
      ['berth explain --vcpu 64 --memory-mb 1024', 'who could take it, and what refuses the others'],
      ['berth explain --vcpu 2 --trait CUSTOM_GPU --host host-7', 'why not on host-7'],
      ['berth explain --vcpu 8 --priority 50 --preempt', 'whose place it would take'],
      ['berth explain --instance web-3', 'why it was placed where it was'],
    ],
    [[EXIT.failed, 'no host, or not the host asked about, could take it']],
  );
}

function show(terminal: Terminal, { diagnosis, hosts, relaxations, preemption, zones }: ExplainResponse): void {
  showDiagnosis(terminal, diagnosis);
  if (zones) showZones(terminal, zones);
  if (relaxations.length > 0) {
    terminal.print(`\n${terminal.colours.bold('what would help:')}`);
    for (const { sentence } of relaxations) terminal.print(wrapped(terminal, sentence, '  '));
  }
  if (preemption !== undefined) {
    const places = [preemption.host, ...(preemption.furtherHosts ?? [])].join(', ');
    terminal.print(`\n${terminal.colours.bold(`it would take the place of these on ${places}:`)}`);
    for (const { instanceUuid, priority: of } of preemption.victims)
      terminal.print(`  ${instanceUuid}, priority ${of}`);
  }
  showHosts(terminal, hosts);
  showRoomCosts(terminal, hosts);
}
