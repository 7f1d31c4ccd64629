import type { Options } from '#libs/runtime/config';
import { addressOptions, processOptions } from '#libs/runtime/options';
import { clientOptions } from './client-options';

/** Every setting of Berth, by who reads it. A table that is not here does not exist for `berth config`. */
export const settingsTables: readonly { readonly of: string; readonly options: Options }[] = [
  { of: 'every process', options: addressOptions },
  { of: 'every service', options: processOptions },
  { of: 'commands', options: { timeoutMs: clientOptions.timeoutMs } },
];
