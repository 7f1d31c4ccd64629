import { MemoryBus } from '#libs/bus/memory/memory-bus';
import type { CastOptions } from '#libs/bus/port';
import * as identity from '#libs/contracts/identity';
import { type Mutant, mutant } from './mutant';

export const IDENTITY_MUTANTS: readonly Mutant[] = [
  mutant(
    'anybody-terminates',
    'whose instance may be terminated by whom',
    identity,
    'speaksForProject',
    () => () => true,
  ),
  mutant('anybody-reports', 'which host may report for which', identity, 'requireHost', () => () => {}),
  mutant('anybody-orders', 'that only services give orders', identity, 'requireService', () => () => {}),
  mutant(
    'put-back-as-service',
    'whose word a message is that was put back',
    MemoryBus.prototype,
    'cast',
    (original) => {
      return function cast(this: MemoryBus, address, message, options = {}) {
        const { id, replyTo, correlationId } = options;
        return original.call(this, address, message, { id, replyTo, correlationId } as CastOptions);
      };
    },
  ),
];
