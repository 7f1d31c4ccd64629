import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** As package.json says. Sources and their build lie at different depths below it, so it is looked for upwards. */
export const version: string = versionAbove(__dirname);

function versionAbove(folder: string): string {
  try {
    const { version: found } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    return found;
  } catch (error) {
    if (dirname(folder) === folder) throw error;
    return versionAbove(dirname(folder));
  }
}
