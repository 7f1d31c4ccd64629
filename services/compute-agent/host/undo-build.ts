import type { Host } from './host';

/**
 * Undoes a build that nobody goes on with, of a driver whose builds the next run of the agent continues. Its journal
 * entry stays until nothing of it is left: if this run ends meanwhile, the next one finds the entry, and undoes the rest.
 * Without one it would hold the instance for an external workload, for ever.
 *
 * @throws like the driver and the journal; to be repeated then
 */
export async function undoBuild({ journal, driver }: Pick<Host, 'journal' | 'driver'>, uuid: string): Promise<void> {
  const entry = (await journal.load()).find((instance) => instance.uuid === uuid);
  if (entry && entry.state !== 'destroying') await journal.put({ ...entry, state: 'destroying' });
  await driver.destroy(uuid);
  await journal.remove(uuid);
}
