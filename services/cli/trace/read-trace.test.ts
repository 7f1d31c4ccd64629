import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readTrace } from './read-trace';

const folder = mkdtempSync(join(tmpdir(), 'berth-trace-'));
afterAll(() => rmSync(folder, { recursive: true }));

const HEAD = 'vmId,tenantId,cores,ram,vmTypeId,starttime,endtime';

function fileOf(name: string, ...lines: string[]): string {
  const path = join(folder, name);
  const text = `${lines.join('\n')}\n`;
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

it.each(['vms.csv', 'vms.csv.gz'])('reads the VMs of %s', async (name) => {
  const path = fileOf(name, HEAD, '7,t1,200.0,28.0,0,-1497.0,32.5', '8,t2,42.0,7.0,1,0.25,inf');
  expect(await readTrace(path, 10)).toEqual({
    scale: 1,
    vms: [
      { vmId: '7', tenantId: 't1', cores: 200, ram: 28, startDays: -1497, endDays: 32.5 },
      { vmId: '8', tenantId: 't2', cores: 42, ram: 7, startDays: 0.25, endDays: Number.POSITIVE_INFINITY },
    ],
  });
});

it('scales amounts that are not whole until they are', async () => {
  const path = fileOf('parts.csv', HEAD, '1,t,0.25,1.5,0,0,1', '2,t,1,2,0,0,1');
  const { vms, scale } = await readTrace(path, 10);
  expect(scale).toBe(100);
  expect(vms.map(({ cores, ram }) => [cores, ram])).toEqual([
    [25, 150],
    [100, 200],
  ]);
});

it('takes no more than the limit', async () => {
  const rows = Array.from({ length: 5000 }, (_, i) => `${i},t,1,1,0,0,1`);
  expect((await readTrace(fileOf('long.csv.gz', HEAD, ...rows), 3)).vms).toHaveLength(3);
});

it.each([
  ['no column', ['vmId,cores', '1,2'], 'the trace has no column tenantId, ram, starttime, endtime'],
  ['no number', [HEAD, '1,t,1,1,0,0,1', '2,t,many,1,0,0,1'], "line 3: cores must be a number, not 'many'"],
  ['nothing asked', [HEAD, '1,t,0,1,0,0,1'], 'line 2: cores and ram must be above 0'],
  ['end before start', [HEAD, '1,t,1,1,0,2,1'], 'line 2: the VM ends before it starts'],
  ['no VM', [HEAD], 'has no VMs'],
  ['a short line', [HEAD, '1,t'], 'cannot be read: Invalid Record Length'],
])('says what is wrong with a trace: %s', async (_name, lines, problem) => {
  await expect(readTrace(fileOf('bad.csv', ...lines), 10)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(problem) as string,
  });
});

it('says that a file is not there, or is not what its name says', async () => {
  await expect(readTrace(join(folder, 'none.csv'), 10)).rejects.toThrow('there is no file');
  const notZipped = join(folder, 'not-zipped.csv.gz');
  writeFileSync(notZipped, `${HEAD}\n`);
  await expect(readTrace(notZipped, 10)).rejects.toThrow('cannot be read: incorrect header check');
});
