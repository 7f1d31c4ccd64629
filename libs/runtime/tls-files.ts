import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { BerthError } from '../domain/errors';

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Time limit of a handshake. */
  readonly handshakeTimeout: number;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Certificate and key for HTTPS; undefined when neither is configured.
 *
 * @param prefix  of their settings, `BERTH_PLACEMENT_`
 * @throws BerthError `invalid_argument / bad_config` when one is missing or unreadable, or they do not match.
 */
export function readTlsFiles(prefix: string, certFile: string, keyFile: string): TlsFiles | undefined {
  if (certFile === '' && keyFile === '') return undefined;
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(files);
    return { ...files, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  } catch (cause) {
    const message = `${prefix}TLS_CERT_FILE and ${prefix}TLS_KEY_FILE must name a certificate and its key (${BerthError.from(cause).message})`;
    throw new BerthError('invalid_argument', 'bad_config', message, { cause });
  }
}
