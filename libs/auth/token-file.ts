import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { invalidArgument } from '../domain/errors';
import type { Principal } from './auth';

/** The SHA-256 of a token, and its principal. */
export interface StaticToken {
  readonly sha256: Buffer;
  readonly principal: Principal;
}

const MAX_TOKENS = 1_000;
const FIELDS = ['token', 'token_sha256', 'user_id', 'project_id', 'roles'];
/** Shorter ones are found by trying; `openssl rand -hex 32` makes one. */
const MIN_TOKEN_LENGTH = 16;
const TOKEN = new RegExp(`^[\\x21-\\x7e]{${MIN_TOKEN_LENGTH},1024}$`);
const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * The tokens of a file: a JSON list of `{ "token" or "token_sha256", "user_id", "project_id"?, "roles" }`.
 *
 * @throws BerthError `invalid_argument / bad_tokens_file`; the detail `field` says where. The message never has a token in it.
 */
export async function readTokenFile(path: string): Promise<readonly StaticToken[]> {
  const list = parseJson(path, await readFile(path, 'utf8').catch((error: Error) => wrong(path, '', error.message)));
  if (!Array.isArray(list) || list.length > MAX_TOKENS) {
    return wrong(path, '', `must be a list of at most ${MAX_TOKENS} tokens`);
  }
  const tokens = list.map((entry: unknown, index) => toToken(path, `[${index}]`, entry));
  const hashes = tokens.map(({ sha256 }) => sha256.toString('hex'));
  const repeated = hashes.findIndex((hash, index) => hashes.indexOf(hash) !== index);
  return repeated === -1 ? tokens : wrong(path, `[${repeated}]`, 'has the token of another entry');
}

/** The form in which tokens are kept and compared. */
export function sha256Of(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the file, and perhaps a token.
    return wrong(path, '', 'is not JSON');
  }
}

function toToken(path: string, at: string, entry: unknown): StaticToken {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return wrong(path, at, 'must be an object');
  const fields = entry as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) wrong(path, `${at}.${unknown}`, `is not a field; known: ${FIELDS.join(', ')}`);
  const nameOf = (field: string) => {
    const value = fields[field];
    return typeof value === 'string' && value !== '' ? value : wrong(path, `${at}.${field}`, 'must be a text');
  };
  return {
    sha256: hashOf(path, at, fields),
    principal: {
      userId: nameOf('user_id'),
      projectId: fields['project_id'] === undefined ? undefined : nameOf('project_id'),
      roles: rolesOf(path, `${at}.roles`, fields['roles']),
      isSystemScoped: false,
    },
  };
}

function hashOf(path: string, at: string, fields: Readonly<Record<string, unknown>>): Buffer {
  const { token, token_sha256: sha256 } = fields;
  if ((token === undefined) === (sha256 === undefined)) return wrong(path, at, 'needs either token or token_sha256');
  if (sha256 === undefined) {
    const isToken = typeof token === 'string' && TOKEN.test(token);
    return isToken
      ? sha256Of(token)
      : wrong(path, `${at}.token`, `must be ${MIN_TOKEN_LENGTH} to 1024 visible ASCII characters`);
  }
  const isHash = typeof sha256 === 'string' && SHA256.test(sha256);
  return isHash ? Buffer.from(sha256, 'hex') : wrong(path, `${at}.token_sha256`, 'must be 64 hexadecimal digits');
}

function rolesOf(path: string, at: string, value: unknown): ReadonlySet<string> {
  const isNames = Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
  return isNames
    ? new Set(value.map((name: string) => name.toLowerCase()))
    : wrong(path, at, 'must be a list of names');
}

function wrong(path: string, field: string, problem: string): never {
  throw invalidArgument('bad_tokens_file', `${[path, field].join(' ').trimEnd()}: ${problem}`, field || undefined);
}
