import { counted } from '#libs/runtime/counted';
import {
  explainPast,
  type LaterDecision,
  type PastExplained,
  parseWhatIf,
  type Reconstructed,
} from '../../../replay/main';
import type { Answer } from '../../answers/answer';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { showDiagnosis, showHosts } from '../build/show-explanation';
import type { moment } from './record-flags';

/** A past decision to explain from a record. */
export interface AskedPast {
  readonly folder: string;
  readonly uuid: string;
  readonly at: ReturnType<typeof moment> | undefined;
  readonly with: readonly string[];
  readonly horizon: number;
}

/** Later decisions that are named. */
const MOST = 10;

/** `berth explain --at`: a decision made again on the fleet as it was then, and with something otherwise. */
export async function explainedPast({ folder, uuid, at, with: changes, horizon }: AskedPast): Promise<Answer> {
  const asked = { uuid, moment: at, changes: changes.map(parseWhatIf), horizon };
  const past = await explainPast(folder, asked);
  return { plain: past, names: selectedHosts(past), draw: (terminal) => show(terminal, past, changes) };
}

function selectedHosts({ outcome }: Pick<Reconstructed, 'outcome'>): readonly string[] {
  return outcome.kind === 'decided' ? outcome.destinations.map(({ host }) => host) : [];
}

function show(terminal: Terminal, past: PastExplained, changes: readonly string[]): void {
  const { bold, red } = terminal.colours;
  const { requestId, decidedAtMs, revision, version, segment, isSame, instead } = past;
  terminal.print(
    facts(terminal, [
      ['selected', said(past)],
      ['decided', `${new Date(decidedAtMs).toISOString()} by Berth ${version}`],
      ['revision', String(revision)],
      ['request', requestId],
      ['record', segment],
      ['made again', isSame ? 'the same' : red(`otherwise: it was ${said({ outcome: past.recorded })}`)],
    ]),
  );
  terminal.print('');
  showReconstructed(terminal, past);
  if (!instead) return;
  terminal.print(`\n${bold(`with ${changes.join(', ')}:`)} ${said(instead)}\n`);
  showReconstructed(terminal, instead);
  const { count, untilMs, placed, refused } = instead.regret;
  if (count === 0) return;
  const until = new Date(untilMs ?? decidedAtMs).toISOString();
  terminal.print(
    `\n${bold('what it would have changed')} for the ${counted(count, 'decision')} after it, until ${until}:`,
  );
  terminal.print(`  ${placed.length} were refused and would have found a host`);
  showLater(terminal, placed);
  terminal.print(`  ${refused.length} found a host and would have been refused`);
  showLater(terminal, refused);
}

function showReconstructed(terminal: Terminal, one: Reconstructed): void {
  if (one.diagnosis) showDiagnosis(terminal, one.diagnosis);
  showHosts(terminal, one.hosts, new Set(selectedHosts(one)));
}

function showLater(terminal: Terminal, later: readonly LaterDecision[]): void {
  for (const { requestId, decidedAtMs, instead } of later.slice(0, MOST)) {
    terminal.print(`    ${requestId} at ${new Date(decidedAtMs).toISOString()}: ${said({ outcome: instead })}`);
  }
  if (later.length > MOST) terminal.print(`    and ${later.length - MOST} more`);
}

function said({ outcome }: Pick<Reconstructed, 'outcome'>): string {
  if (outcome.kind === 'refused') return `no host: ${outcome.summary}`;
  const [first, ...others] = outcome.destinations;
  if (first === undefined) return 'nothing';
  const alternates = first.alternates.length > 0 ? `, alternates ${first.alternates.join(', ')}` : '';
  return others.length === 0 ? `${first.host}${alternates}` : outcome.destinations.map(({ host }) => host).join(', ');
}
