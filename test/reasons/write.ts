import { writeFileSync } from 'node:fs';
import { REASONS_PAGE, reasonsPage } from './reasons-page';

writeFileSync(REASONS_PAGE, reasonsPage());
