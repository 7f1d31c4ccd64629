import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaPaths } from './files';
import { withOptions } from './options';

/** `npm run proto:rules`: writes the limits that the tables of the contracts state into the schemas, as options. */
const ROOT = join(__dirname, '../..');
for (const path of schemaPaths(ROOT)) writeFileSync(path, withOptions(readFileSync(path, 'utf8')));
