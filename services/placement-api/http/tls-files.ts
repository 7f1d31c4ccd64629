import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { BerthError } from '#libs/domain/errors';

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Certificate and key with which to serve HTTPS; undefined when neither is named.
 *
 * @throws BerthError `invalid_argument / bad_config` when one is missing, unreadable, or not the other's.
 */
export function readTlsFiles(certFile: string, keyFile: string): TlsFiles | undefined {
  if (certFile === '' && keyFile === '') return undefined;
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(files);
    return files;
  } catch (cause) {
    const message = `BERTH_PLACEMENT_TLS_CERT_FILE and BERTH_PLACEMENT_TLS_KEY_FILE must name a certificate and its key (${BerthError.from(cause).message})`;
    throw new BerthError('invalid_argument', 'bad_config', message, { cause });
  }
}
