import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { readShadowReport } from '#libs/contracts/read-shadow-report';
import type { ShadowReport } from '#libs/contracts/shadow-report';
import { BerthError } from '#libs/domain/errors';
import { answerCommand, showAnswer } from '../../answers/answer';
import { novaSettings } from '../../client/client-options';
import { fetchWithin } from '../../client/fetch-within';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings } from '../../settings';
import { amount } from '../number-flags';
import { showReport } from './show-report';

/** `berth nova report` */
export function novaCommand(context: Context): CommandUnknownOpts {
  return new Command('nova').addCommand(reportCommand(context));
}

const DEFAULT_LIMIT = 20;

function reportCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('report')
    .description(
      'Compare the choices of a shadow and of the scheduler that answers: the rate of agreement, and the reason of each difference.',
    )
    .option('--limit <n>', 'differences to list, the newest first; 0 for none', amount, DEFAULT_LIMIT);
  addSettingFlags(command, novaSettings).action(async (flags) => {
    const { nova } = readSettings(novaSettings, command, context.env);
    if (nova.url === '') throw usageError("say where the shadow's operations endpoint is", HINT);
    await showAnswer(context, flags, async () => {
      const whole = await readReport(nova, context);
      const report = { ...whole, differences: whole.differences.slice(0, flags.limit) };
      const names = report.differences.map(({ instanceUuid }) => instanceUuid);
      return { plain: report, names, draw: (terminal) => showReport({ ...context, terminal }, report) };
    });
  });
  return addHelp(command, [
    ['berth nova report --nova-shadow-url http://127.0.0.1:8790', 'agreement, times, and each difference explained'],
    ['berth nova report --json --limit 1000', 'for a program'],
  ]);
}

const HINT = 'berth nova report --nova-shadow-url http://127.0.0.1:8790, or set BERTH_NOVA_SHADOW_URL';

interface Endpoint {
  readonly url: string;
  readonly timeoutMs: number;
}

/** @throws BerthError `unavailable / shadow_away`, `failed_precondition / not_a_shadow`, `aborted / interrupted` */
async function readReport({ url, timeoutMs }: Endpoint, { clock, interrupted }: Context): Promise<ShadowReport> {
  const address = `${url.replace(/\/+$/, '')}/shadow`;
  const patience = { timeoutMs, clock, interrupted };
  const answer = await fetchWithin(address, { headers: {} }, patience, (thrown, isLate) => {
    const why = isLate ? `no answer in ${timeoutMs} ms` : BerthError.from(thrown).message;
    return new BerthError('unavailable', 'shadow_away', `no shadow at ${url}: ${why}`);
  });
  return readShadowReport(url, answer);
}
