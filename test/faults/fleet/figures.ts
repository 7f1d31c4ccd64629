import { writeSync } from 'node:fs';
import { environment } from '#libs/runtime/system';
import { recordFileOf } from '../../sim/robustness/real-tests';
import { type RealRecord, writeRecord } from '../../sim/robustness/record';

/**
 * Prints a figure of `deploy/README.md`, "What can be lost, and when", as it was measured in this run, and records it.
 */
export function printFigure(fault: string, figures: Readonly<Record<string, number>>): void {
  const seconds = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
  writeSync(process.stdout.fd, `measured: ${fault}: ${seconds.join(', ')}\n`);
  recordReal({ kind: 'figure', fault, figures });
}

/** Records something of this test for `npm run robustness`, in the folder that `BERTH_TEST_RECORDS` names, if any. */
export function recordReal(record: RealRecord): void {
  const { BERTH_TEST_RECORDS: folder } = environment();
  if (folder) writeRecord(folder, recordFileOf(expect.getState().testPath ?? ''), record);
}
