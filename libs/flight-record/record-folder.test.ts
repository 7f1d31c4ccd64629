import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder, segmentPath, segmentsOf, trimFolder } from './record-folder';

const NOW_MS = 1_764_000_000_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-record-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A segment of so many bytes that was written last so long ago. */
function segment(agoMs: number, bytes: number): string {
  const path = segmentPath(folder, NOW_MS - agoMs - 1_000, '1');
  writeFileSync(path, Buffer.alloc(bytes));
  utimesSync(path, (NOW_MS - agoMs) / 1_000, (NOW_MS - agoMs) / 1_000);
  return path;
}

const left = () => segmentsOf(folder).map(({ path }) => path);

it('deletes the oldest segments beyond the size, and none that may still be written', async () => {
  segment(900_000, 60);
  const [second, writing] = [segment(600_000, 60), segment(1_000, 500)];
  await trimFolder(folder, { maxBytes: 560, maxAgeMs: 10_000_000 }, NOW_MS);
  expect(left()).toEqual([second, writing]);
  await trimFolder(folder, { maxBytes: 1, maxAgeMs: 10_000_000 }, NOW_MS);
  expect(left()).toEqual([writing]);
});

it('deletes segments beyond the age', async () => {
  segment(900_000, 1);
  const young = segment(600_000, 1);
  await trimFolder(folder, { maxBytes: 1_000, maxAgeMs: 700_000 }, NOW_MS);
  expect(left()).toEqual([young]);
});

it('says which folder can not be written or read', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(makeFolder(join(file, 'below'))).rejects.toMatchObject({ reason: 'unwritable_folder' });
  expect(() => segmentsOf(join(folder, 'nowhere'))).toThrow('nowhere can not be read: ENOENT');
});
