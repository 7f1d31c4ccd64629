import { userOfUrl } from '../amqp/user-of-url';
import { cellOf } from '../contracts/cells';
import { identityOf } from '../contracts/identity';
import { BerthError } from '../domain/errors';
import { readConfig } from '../runtime/config';
import type { Surroundings } from '../runtime/service';
import { type AmqpSettings, connectAmqp } from './amqp/connect-amqp';
import { MemoryBroker } from './memory/broker';
import { MemoryBus } from './memory/memory-bus';
import { type BusConfig, busOptions } from './options';
import type { Bus } from './port';

/** Where the bus is, and how to use it; what is not given has its default. */
export type OpenBusConfig = Pick<AmqpSettings, 'busUrl' | 'isHasty'> & Partial<BusConfig>;

/**
 * Opens the bus that a URL names: `amqp:` and `amqps:` are RabbitMQ, `memory:` is the broker given (buses that shall talk
 * to each other share one); `memory://agent.host-1@broker` is that of a user.
 *
 * Queues, exchanges and topics are those of the cell: a bus of one cell neither hears another's nor sends there.
 *
 * @throws BerthError as `connectAmqp`; `invalid_argument / bad_bus_url`, `invalid_argument / user_of_other_cell`.
 */
export async function openBus(
  config: OpenBusConfig,
  around: Surroundings,
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
