import { writeSync } from 'node:fs';

/** Prints a figure of `deploy/README.md`, "What can be lost, and when", as it was measured in this run. */
export function printFigure(fault: string, figures: Readonly<Record<string, number>>): void {
  const seconds = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)} s`);
  writeSync(process.stdout.fd, `measured: ${fault}: ${seconds.join(', ')}\n`);
}
