import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncApi } from './asyncapi';

/** `npm run proto:asyncapi`: writes the public part of the wire contract as an AsyncAPI document. */
const ROOT = join(__dirname, '../..');
writeFileSync(join(ROOT, 'proto/asyncapi.yaml'), asyncApi(ROOT));
