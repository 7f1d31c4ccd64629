import { instanceEventCodec } from '../contracts/instance';
import { instanceEvent } from '../contracts/instance-view';
import { instanceTopic } from '../contracts/queues';
import { BerthError } from '../domain/errors';
import type { InstanceRow } from '../domain/instance';
import type { Log } from '../runtime/log';
import type { Bus } from './port';

/**
 * Publishes the event of an instance's version. An event that no broker can carry (topic or body too long) is given up
 * and logged, and counts as published: keeping it would fill the outbox and delay the instance's later events. The bus
 * counts it as not sent, with its reason.
 *
 * @throws BerthError like `Bus.publish`, when it may succeed later.
 */
export async function publishVersion(bus: Bus, version: InstanceRow, log: Log): Promise<void> {
  const topic = instanceTopic(version.state, version.projectId, version.uuid);
  const body = instanceEventCodec.encode(instanceEvent(version));
  try {
    await bus.publish(topic, { type: instanceEventCodec.type, body });
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (error.code !== 'invalid_argument') throw error;
    const fields = { event: 'event_given_up', err: error, instance_uuid: version.uuid, version: version.version };
    log.error(fields, 'event given up: it can never be published');
  }
}
