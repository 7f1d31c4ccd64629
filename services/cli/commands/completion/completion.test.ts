import { execFileSync } from 'node:child_process';
import { runLine } from '../../testing/run-line';
import { SCRIPTS, SHELLS } from './scripts';

/** The completions of a line's last word. */
async function completed(line: string): Promise<string[]> {
  const { code, out, err } = await runLine(`__complete -- ${line}`);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out
    .trimEnd()
    .split('\n')
    .map((candidate) => candidate.split('\t', 1)[0] ?? '');
}

it.each([
  ['ho', ['host']],
  ['host d', ['disable', 'drain', 'delete']],
  ['instance list --state un', ['UNKNOWN', 'UNSHELVING', 'UNDOING']],
  ['build --wait-f', ['--wait-for-capacity']],
  ['completion ', ['bash', 'zsh', 'fish']],
  ['agent enrol host-1 --ca', ['--carries']],
  ['demo --scenario he', ['heal']],
  ['--v', ['--version']],
  ['no-such-command ', ['']],
  ['build --vcpu ', ['']],
  ['build --vcpu 1', ['']],
])('completes berth %s', async (line, candidates) => {
  expect(await completed(line)).toEqual(candidates);
});

it('offers every command but itself, with its sentence', async () => {
  const { out } = await runLine('__complete -- ');
  expect(out).toContain('host\tList and show hosts; take them out of service and back.\n');
  expect(out).toContain('\nscheduler\t');
  expect(out).not.toContain('__complete');
});

it('says nothing of a bus that is away', async () => {
  const { code, out, err } = await runLine('__complete -- host show ', { BERTH_BUS_URL: 'amqp://127.0.0.1:1' });
  expect({ code, out, err }).toEqual({ code: 0, out: '', err: '' });
});

it.each(SHELLS)('prints what %s is told', async (shell) => {
  expect(await runLine(`completion ${shell}`)).toMatchObject({
    code: 0,
    out: expect.stringContaining('__complete --'),
  });
});

it('lists in bash what each candidate is, and puts a single one into the line as it is', () => {
  const complete = (word: string, type: number) => {
    const offers = '1111\\tweb-1 active host-1\\n2222\\tdb active host-2\\n33\\n';
    const berth = `berth() { printf '${offers}' | grep "^${word}"; }`;
    const line = `COMP_WORDS=(berth instance show "${word}") COMP_CWORD=3 COMP_TYPE=${type} COLUMNS=40`;
    const script = `${berth}\n${SCRIPTS.bash}\n${line}\n_berth\nprintf '%s|\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
  };
  expect(complete('', 63)).toEqual(['1111  web-1 active host-1|', '2222  db active host-2|', '33    |']);
  expect(complete('', 37)).toEqual(['1111|', '2222|', '33|']);
  expect(complete('1', 9)).toEqual(['1111|']);
});

it('names the shells that it knows', async () => {
  expect(await runLine('completion tcsh')).toMatchObject({ code: 2, err: expect.stringContaining('bash, zsh, fish') });
});
