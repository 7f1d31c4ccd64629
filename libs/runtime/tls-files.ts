import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { BerthError } from '../domain/errors';

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Certificate and key with which to serve HTTPS; undefined when neither is named.
 *
 * @param prefix  of the settings that name them, `BERTH_PLACEMENT_`
 * @throws BerthError `invalid_argument / bad_config` when one is missing, unreadable, or not the other's.
 */
export function readTlsFiles(prefix: string, certFile: string, keyFile: string): TlsFiles | undefined {
  if (certFile === '' && keyFile === '') return undefined;
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(files);
    return files;
  } catch (cause) {
    const message = `${prefix}TLS_CERT_FILE and ${prefix}TLS_KEY_FILE must name a certificate and its key (${BerthError.from(cause).message})`;
    throw new BerthError('invalid_argument', 'bad_config', message, { cause });
  }
}
