import { mutantOf } from './mutants/registry';
import { explainFailure, shrinkFailure } from './report';
import { catchMutant } from './run-mutants';
import { runSeed } from './world/worlds';

it('does the same, bit for bit, from the same seed', async () => {
  const first = await runSeed({ seed: 7, actionCount: 40 });
  const again = await runSeed({ seed: 7, actionCount: 40 });
  const other = await runSeed({ seed: 8, actionCount: 40 });
  expect(first.history.entries.length).toBeGreaterThan(1_000);
  expect(again.history.entries).toEqual(first.history.entries);
  expect(again.history.digest()).toBe(first.history.digest());
  expect(other.history.digest()).not.toBe(first.history.digest());
});

it('finds what is broken, shrinks it to what it takes, and names the command that shows it again', async () => {
  const keepsNoGroups = mutantOf('groups-not-checked');
  const { by } = await catchMutant(keepsNoGroups, 40);
  expect(by).toBeDefined();
  if (by === undefined) return;
  const putBack = keepsNoGroups.apply();
  const failure = await shrinkFailure(by.options, by.violation);
  const again = await runSeed({ ...by.options, kept: failure.kept });
  putBack();
  expect(failure.kept?.length).toBeLessThan(10);
  expect(again.history.digest()).toBe(failure.result.history.digest());
  const text = explainFailure(failure, keepsNoGroups.name);
  expect(text).toContain(`npm run sim -- --seed ${by.options.seed} --steps 40 --keep ${failure.kept?.join(',')}`);
  expect(text).toMatch(/│─+▶│/);
});
