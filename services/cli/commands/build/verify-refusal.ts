import { readFile } from 'node:fs/promises';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { invalidArgument } from '#libs/domain/errors';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { decodeCertificate, verifyRefusal } from '../../../rehearsal/main';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings } from '../../settings';
import { readFleet } from '../rehearse/read-fleet';
import { STORE_SETTINGS } from '../rehearse/rehearsal-flags';

/** Problems that are named. */
const MOST = 20;

/** `berth verify-refusal`: whether "no valid host" was right, by the rows of the store alone. */
export function verifyRefusalCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('verify-refusal')
    .argument('<file>', 'a certificate, as berth explain --certificate writes it')
    .option('--from <file>', 'a fleet that was saved by berth rehearse save, instead of the store')
    .option('--json', 'print one JSON value', false);
  addSettingFlags(command, STORE_SETTINGS).action(async (file, { from, json }) => {
    const { placement } = readSettings(STORE_SETTINGS, command, context.env);
    const text = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      throw invalidArgument('unreadable_file', `${file} can not be read: ${thrown.code ?? thrown.message}`);
    });
    const certificate = decodeCertificate(text);
    const fleet = await readFleet(context, from, placement);
    const { hostCount, problems } = verifyRefusal(certificate, fleet.placement);
    const laterMs = fleet.takenAtMs - certificate.madeAtMs;
    if (json) terminal.json({ holds: problems.length === 0, hostCount, laterMs, problems });
    else if (problems.length === 0) {
      const said = certificate.refusals.map(({ reason, hosts }) => `${hosts.length} by ${reason}`);
      terminal.print(`It holds: of ${counted(hostCount, 'host')} none could take it; refused ${said.join(', ')}.`);
    } else {
      terminal.print(
        `It proves nothing: ${counted(problems.length, 'problem')}, on a fleet ${laterMs} ms after it was made.`,
      );
      for (const problem of problems.slice(0, MOST)) terminal.print(`  ${problem}`);
    }
    if (problems.length > 0) context.exit(EXIT.failed);
  });
  return addHelp(
    command,
    [
      ['berth explain --vcpu 64 --memory-mb 1024 --certificate refusal.json', 'no host: writes why, for each'],
      ['berth verify-refusal refusal.json --store-url redis://localhost:6379', 'by the store, as it is now'],
      ['berth verify-refusal refusal.json --from fleet.json.gz', 'by a fleet that was saved then'],
    ],
    [[EXIT.failed, 'it does not hold, on this fleet']],
  );
}
