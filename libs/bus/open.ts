import { userOfUrl } from '../amqp/user-of-url';
import { cellOf } from '../contracts/cells';
import { identityOf } from '../contracts/identity';
import { BerthError } from '../domain/errors';
import { readConfig } from '../runtime/config';
import type { RuntimeDeps } from '../runtime/service';
import { type AmqpSettings, connectAmqp } from './amqp/connect-amqp';
import { MemoryBroker } from './memory/broker';
import { MemoryBus } from './memory/memory-bus';
import { type BusConfig, busOptions } from './options';
import type { Bus } from './port';

/** The address of the bus, and its settings; omitted ones have their defaults. */
export type OpenBusConfig = Pick<AmqpSettings, 'busUrl' | 'isHasty'> & Partial<BusConfig>;

/**
 * Opens the bus of a URL: `amqp:` and `amqps:` are RabbitMQ, `memory:` is the given broker (buses that exchange
 * messages share one); `memory://agent.host-1@broker` is a user's.
 *
 * Queues, exchanges and topics belong to the cell: a bus neither hears nor sends across cells.
 *
 * @throws BerthError like `connectAmqp`; `invalid_argument / bad_bus_url`, `invalid_argument / user_of_other_cell`.
 */
export async function openBus(
  config: OpenBusConfig,
  around: RuntimeDeps,
  broker = new MemoryBroker(around.clock, around.log),
): Promise<Bus> {
  const settings = { ...readConfig(busOptions, {}), ...config };
  const [scheme = ''] = config.busUrl.split(':');
  const user = userOfUrl(config.busUrl);
  const identity = identityOf(user, settings.cell);
  if (identity.kind === 'nobody') throw userOfOtherCell(user, settings.cell);
  switch (scheme) {
    case 'memory':
      return new MemoryBus(broker, identity, settings, around);
    case 'amqp':
    case 'amqps':
      return await connectAmqp(settings, around);
    default:
      throw new BerthError(
        'invalid_argument',
        'bad_bus_url',
        `a bus URL starts with amqp:, amqps: or memory:, not '${scheme}'`,
      );
  }
}

function userOfOtherCell(user: string, cell: string): BerthError {
  const message = `the broker's user ${user} is of cell ${cellOf(user)}, and BERTH_CELL is ${cell}; set one to the other's`;
  return new BerthError('invalid_argument', 'user_of_other_cell', message);
}
