import { writeFile } from 'node:fs/promises';
import { Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Client, SpecFields } from '#libs/client/client';
import type { ExplainResponse } from '#libs/contracts/diagnosis';
import { invalidArgument } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { requestSpec } from '#libs/domain/request-spec';
import { EXIT } from '#libs/runtime/exit-codes';
import { WHAT_IF_FORMS } from '../../../replay/options';
import { addAnswerFlags, showAnswer } from '../../answers/answer';
import { clientSettings } from '../../client/client-options';
import { meantInstance, NAMED } from '../../client/meant';
import { ownProject, withClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { type Terminal, wrapped } from '../../views/terminal';
import { gangInWords } from '../instance/gang-text';
import { amount } from '../number-flags';
import { fairShareLine } from '../quota/share-text';
import { moment, RECORD_SETTINGS, RECORD_TABLES, recordFolderOf } from '../record/record-flags';
import { repeatable } from '../repeatable-flag';
import { asPriority, duration } from './admission-flags';
import { addRequestFlags, requestSpecOf, reservationOption, withMeantInstances } from './request-flags';
import { showDecision } from './show-decision';
import { showDiagnosis, showHosts, showRoomCosts, showZones } from './show-explanation';

/** `berth explain`: a decision as a dry run, with the reasons of every refusal. */
export function explainCommand(context: Context): CommandUnknownOpts {
  const asking = addRequestFlags(new Command('explain'))
    .optionsGroup('Subject:')
    .option('--instance <instance>', `the placement of this instance instead of a request; ${NAMED}`)
    .option('--request <id>', "the last decision for this request instead; also Nova's, by req-...", requestId)
    .option('--host <name>', 'explain this host only', '')
    .option('--limit <n>', 'best hosts to list', amount, 10)
    .option('--priority <n>', 'its priority, with --preempt', asPriority, 0)
    .option('--time-limit <time>', 'of an instance that ends after this time, such as 1h', duration)
    .addOption(reservationOption())
    .option('--preempt', 'if no host fits: the instances that it would preempt', false)
    .option('--certificate <file>', 'if no host fits: write the reason for each host, for berth verify-refusal')
    .optionsGroup('From a record of decisions (berth record):')
    .option('--at <moment>', 'with --instance or --request: replay the last decision by this time or revision', moment)
    .addOption(repeatable('--with <change>', `and how it would have been: ${WHAT_IF_FORMS}`, (text) => text))
    .option('--horizon <n>', 'with --with: number of later decisions to replay', amount, 10_000);
  const command = addAnswerFlags(asking);
  const settings = { ...RECORD_SETTINGS, tables: { ...clientSettings.tables, ...RECORD_TABLES } };
  addSettingFlags(command, settings).action(async (flags) => {
    const { instance, request, host, limit, priority, preempt: mayPreempt, certificate: file, at, horizon } = flags;
    if (at !== undefined || flags.with.length > 0) {
      const folder = recordFolderOf(context, command);
      const uuid = request ?? instance ?? '';
      if (!isUuid(uuid))
        throw invalidArgument('bad_instance', '--at and --with need the UUID of --instance or --request');
      const asked = { folder, uuid, at, with: flags.with, horizon };
      const { explainedPast } = await import('#services/cli/commands/record/explain-past');
      return showAnswer(context, flags, () => explainedPast(asked));
    }
    if (instance !== undefined || request !== undefined) {
      return withClient(context, command, async (client) => {
        const uuid = request ?? (await meantInstance(client, instance ?? ''));
        const decision = await client.explainInstance(uuid);
        const gang = request === undefined ? await gangOf(client, uuid) : undefined;
        const draw = (terminal: Terminal) => showDecision({ ...context, terminal }, { uuid, gang }, decision);
        await showAnswer(context, flags, async () => ({ plain: decision, names: [uuid], draw }));
      });
    }
    const { reservation, timeLimit: timeLimitMs } = flags;
    const asked = { ...requestSpecOf(flags, [], ownProject(context, command)), reservation };
    await withClient(context, command, async (client) => {
      const spec = await withMeantInstances(client, asked);
      const answer = await client.explain(spec, {
        host,
        limit,
        priority,
        mayPreempt,
        timeLimitMs,
        ...(file === undefined ? {} : { certificate: true }),
      });
      const fitting = answer.hosts.filter(({ passed }) => passed).map((one) => one.host);
      const draw = (terminal: Terminal) => show(terminal, answer);
      await showAnswer(context, flags, async () => ({ plain: answer, names: fitting, draw }));
      if (file !== undefined) await certify(context, file, await client.spelledOut(spec), answer);
      if (fitting.length === 0) context.exit(EXIT.failed);
    });
  });
  return addHelp(command, EXAMPLES, [[EXIT.failed, 'no host, or not the host asked about, could take it']]);
}

const EXAMPLES = [
  ['berth explain --vcpu 64 --memory-mb 1024', 'who could take it, and what refuses the others'],
  ['berth explain --vcpu 2 --trait CUSTOM_GPU --host host-7', 'why not on host-7'],
  ['berth explain --vcpu 8 --time-limit 2h', 'as one that ends before reserved capacity is needed'],
  ['berth explain --vcpu 8 --priority 50 --preempt', 'the instances that it would replace'],
  ['berth explain --vcpu 64 --certificate refusal.json', 'and why each host is refused, to be verified'],
  ['berth explain --instance web-3', 'why it was placed where it was'],
  [
    'berth explain --instance 0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a --at 2026-11-28T12:00:00Z --with host-up=host-9',
    'from a record: all hosts as they were then, and what host-9 would have changed',
  ],
  ['berth explain --request req-0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a', 'the same of a request, such as one of Nova'],
] as const;

/** Writes a certificate, if there is something to certify. @throws BerthError `invalid_argument / unwritable_file` */
async function certify(
  { terminal, clock }: Context,
  file: string,
  spec: SpecFields,
  { certificate: refusals }: ExplainResponse,
): Promise<void> {
  if (refusals === undefined) return terminal.note('nothing is certified: a host fits, or one host was asked about');
  // All of it is seldom needed, and much.
  const { CERTIFICATE_FORMAT, encodeCertificate } = await import('#services/rehearsal/main');
  const request = requestSpec(spec.resources ?? {}, spec);
  const text = encodeCertificate({ format: CERTIFICATE_FORMAT, madeAtMs: clock.now(), request, refusals });
  await writeFile(file, text, { mode: 0o600 }).catch((thrown: NodeJS.ErrnoException) => {
    throw invalidArgument('unwritable_file', `${file} can not be written: ${thrown.code ?? thrown.message}`);
  });
  terminal.note(`the certificate is in ${file}: check it with berth verify-refusal`);
}

/** The gang of an instance in words; undefined for none, and for an instance that Berth has no record of, such as Nova's. */
async function gangOf(client: Pick<Client, 'instance'>, uuid: string): Promise<string | undefined> {
  const instance = await client.instance(uuid).catch(() => undefined);
  return instance?.minCount ? gangInWords(instance) : undefined;
}

/** Nova writes a uuid after `req-`, Berth the uuid alone. */
function requestId(text: string): string {
  const uuid = text.toLowerCase().replace(/^req-/, '');
  if (!isUuid(uuid)) throw new InvalidArgumentError('It must be a UUID, or req- and a UUID.');
  return uuid;
}

function show(terminal: Terminal, explained: ExplainResponse): void {
  const { diagnosis, hosts, relaxations, preemption, zones, fairShare } = explained;
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
  if (fairShare) terminal.print(`\n${wrapped(terminal, fairShareLine(fairShare), '  ')}`);
  showHosts(terminal, hosts);
  showRoomCosts(terminal, hosts);
}
