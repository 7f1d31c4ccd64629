import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trackedInstance } from '../host/build-order';
import { openJournal } from '../host/journal';
import { anOrder } from '../testing/agent-world';
import { openFormerRun } from './former-run';
import { ownState } from './state-owner';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-state-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const A = { cell: 'cell1', host: 'a' };
const B = { cell: 'cell1', host: 'b' };
const REFUSED = { code: 'failed_precondition', reason: 'state_of_another_host' };

/** Adds an instance to a host's journal; returns its removal. */
async function remembers(host: string): Promise<() => Promise<void>> {
  const journal = await openJournal(join(folder, host, 'journal'));
  const instance = trackedInstance(anOrder(), 'running');
  await journal.put(instance);
  return () => journal.remove(instance.uuid);
}

it('refuses a folder to another name while instances of the name before are there, and says what to do', async () => {
  await ownState(folder, A);
  const forget = await remembers('a');
  for (const other of [B, { cell: 'cell2', host: 'a' }]) {
    await expect(ownState(folder, other)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringMatching(/host a of cell cell1.*BERTH_AGENT_HOST=a.*another BERTH_AGENT_STATE_DIR/),
    });
  }
  await ownState(folder, A);
  await forget();
  await ownState(folder, B);
  const forgetAgain = await remembers('b');
  await expect(ownState(folder, A)).rejects.toMatchObject(REFUSED);
  await forgetAgain();
});

it.each([
  ['what an older version left', () => remembers('a')],
  ['hosts that the agent before carried', () => remembers('a-07')],
  [
    'an entry that can not be read',
    async () => {
      mkdirSync(join(folder, 'a', 'journal'), { recursive: true });
      writeFileSync(join(folder, 'a', 'journal', '00000000-0000-4000-8000-000000000001.json.unreadable'), '');
    },
  ],
  [
    'what a driver has left without a journal',
    async () => {
      mkdirSync(join(folder, 'a', 'instances', '00000000-0000-4000-8000-000000000001'), { recursive: true });
    },
  ],
])('refuses it for %s, and takes it as who has it', async (_, leave) => {
  await leave();
  await expect(ownState(folder, B)).rejects.toMatchObject(REFUSED);
  await ownState(folder, A);
  await expect(ownState(folder, B)).rejects.toMatchObject(REFUSED);
});

it('lets agents share a folder that live beside each other, and start again in any order', async () => {
  await ownState(folder, A);
  const run = await openFormerRun(join(folder, 'a'));
  await remembers('a');
  await ownState(folder, B);
  await remembers('b');
  await run.close();
  for (const own of [B, A]) await ownState(folder, own);
  await expect(ownState(folder, { cell: 'cell1', host: 'c' })).rejects.toMatchObject(REFUSED);
});

it('knows each of the agents that shared a folder of an older version, whichever starts first', async () => {
  await remembers('a');
  await remembers('rack-1');
  const owners = [A, { cell: 'cell1', host: 'rack' }];
  for (const own of [...owners, ...owners.toReversed()]) await ownState(folder, own);
  await expect(ownState(folder, B)).rejects.toMatchObject(REFUSED);
});
