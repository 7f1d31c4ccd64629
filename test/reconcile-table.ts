import { readFileSync, writeFileSync } from 'node:fs';
import { caseTable } from '../services/conductor/testing/case-table';

/** `npm run reconcile-table`: writes the case table of `reconcile` into the conductor's README. */
const README = 'services/conductor/README.md';
const text = readFileSync(README, 'utf8');
const [before, , after] = text.split(/(?<=<!-- case table: .*-->\n)([^]*?)(?=<!-- end of case table -->)/);
writeFileSync(README, `${before}\n${caseTable()}\n\n${after}`);
