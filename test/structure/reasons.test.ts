import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonsIn } from '../reasons/find-reasons';
import { REASONS_PAGE, reasonsPage } from '../reasons/reasons-page';

/** The first two columns: messages may change before the page is written anew. */
function rowsOf(page: string): string[] {
  return page.split('\n').flatMap((line) => /^\| `.*?` \| .*? \|/.exec(line) ?? []);
}

it('has all reasons on their page (npm run reasons)', () => {
  const rows = rowsOf(readFileSync(join(__dirname, '../..', REASONS_PAGE), 'utf8'));
  expect(rows).toEqual(rowsOf(reasonsPage()));
  expect(rows.length).toBeGreaterThan(200);
  for (const reason of ['source_silent', 'preempts_without_waiting', 'no_valid_host']) {
    expect([reason, rows.some((row) => row.startsWith(`| \`${reason}\` |`))]).toEqual([reason, true]);
  }
});

it('finds the reasons of errors, of faults and of filters', () => {
  const text = [
    'const message = `${host} is ` + "away";',
    "throw new BerthError('unavailable', 'host_away', message);",
    "invalidArgument('bad_amount', `${amount} is none`);",
    "const fault = { reason: 'source_silent', message };",
    "const reason = { symbol: 'capacity', phrase: `lack ${name}` };",
    "log.warn({ event: 'x', reason: 'none' }, 'no');",
    "valueOf('maxmemory');",
  ].join('\n');
  expect(reasonsIn(text)).toEqual([
    { reason: 'host_away', kind: 'unavailable', message: '… is away' },
    { reason: 'bad_amount', kind: 'invalid_argument', message: '… is none' },
    { reason: 'source_silent', kind: 'fault', message: '… is away' },
    { reason: 'capacity', kind: 'refusal', message: 'lack …' },
  ]);
});
