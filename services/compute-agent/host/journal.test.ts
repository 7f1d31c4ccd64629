import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anOrder } from '../testing/agent-world';
import { trackedInstance } from './build-order';
import { openJournal } from './journal';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-journal-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const anInstance = (uuid = randomUUID()) => trackedInstance(anOrder({ instanceUuid: uuid }), 'running');

it('takes any number of writes of one instance at once, and keeps the last', async () => {
  const journal = await openJournal(folder);
  const instance = anInstance();
  const writes = Array.from({ length: 200 }, (_, n) => journal.put({ ...instance, attempt: n + 1 }));
  await Promise.all(writes);
  expect(await journal.load()).toMatchObject([{ uuid: instance.uuid, attempt: 200 }]);
  expect(readdirSync(folder)).toEqual([`${instance.uuid}.json`]);
});

it('keeps nothing of an instance that is removed while it is written', async () => {
  const journal = await openJournal(folder);
  const instance = anInstance();
  await Promise.all([journal.put(instance), journal.put(instance), journal.remove(instance.uuid)]);
  expect(readdirSync(folder)).toEqual([]);
});

it('removes what a run that died left half written under its temporary name', async () => {
  const journal = await openJournal(folder);
  writeFileSync(join(folder, `${randomUUID()}.json.77-1.new`), '{"uu');
  expect(await journal.load()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['empty', () => ''],
  ['cut short', (whole: string) => whole.slice(0, whole.length / 2)],
  ['zeros', () => '\0'.repeat(200)],
  ['no object', () => 'null'],
  ['of another shape', () => '{}'],
  ['another instance’s', () => JSON.stringify(anInstance())],
])('sets an entry aside that is %s, and reads the others', async (_, damage) => {
  const journal = await openJournal(folder);
  const [torn, whole] = [anInstance(), anInstance()];
  await journal.put(whole);
  writeFileSync(join(folder, `${torn.uuid}.json`), damage(JSON.stringify(torn)));
  expect(await journal.load()).toMatchObject([{ uuid: whole.uuid }]);
  expect(await journal.loadUnreadable()).toEqual([torn.uuid]);
  expect(await (await openJournal(folder)).loadUnreadable()).toEqual([torn.uuid]);
  await journal.remove(torn.uuid);
  expect(await journal.loadUnreadable()).toEqual([]);
});

it('starts with damaged notes of lost instances and of a disabled host', async () => {
  const journal = await openJournal(folder);
  writeFileSync(join(folder, `${randomUUID()}.lost.json`), '{"uuid":');
  writeFileSync(join(folder, 'disabled.json'), '');
  expect(await journal.loadEnded()).toEqual([]);
  expect(await journal.loadDisabled()).toBeUndefined();
  expect(await journal.load()).toEqual([]);
});
