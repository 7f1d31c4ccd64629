import type { Bus } from '#libs/bus/port';
import { publishVersion } from '#libs/bus/publish-version';
import type { Instance } from '#libs/domain/instance';
import type { InstanceStore } from '#libs/instances/store';
import type { Log } from '#libs/runtime/log';

/** Publishes versions of instances, in order, and takes them out of the outbox. */
export interface EventPublisher {
  /**
   * Publishes versions of one instance, oldest first. Never rejects: answers whether all are published, and what is not
   * stays in the outbox.
   */
  publish(versions: readonly Instance[]): Promise<boolean>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

interface UnderWay {
  /** Versions that come next; some may come twice. */
  readonly next: Instance[];
  readonly done: Promise<boolean>;
}

/**
 * Listeners drop what is older than what they have seen, so the first event of a version must come after the first of the
 * version before it. Two things could change their order, and each has its rule:
 *
 * - This process publishes both. A version is sent when the one before it is confirmed: the broker may refuse one message
 *   and take the next.
 * - Another process wrote the version before, and is slow or dead. A write answers with all versions that are in the outbox,
 *   and whoever wrote publishes those of others first. What the other process publishes later is old news.
 *
 * It costs an event published twice where two conductors write one instance within some twenty milliseconds (the store lets
 * marks wait for a write to go with), and no wait for anybody: the next version of a record is mostly a host's answer, which comes long after the confirm.
 */
export function eventPublisher(bus: Bus, instances: InstanceStore, log: Log): EventPublisher {
  const underWay = new Map<string, UnderWay>();

  const publishAll = async (uuid: string, next: Instance[]): Promise<boolean> => {
    let published = 0;
    let isPublished = true;
    try {
      for (let one = next.shift(); one !== undefined; one = next.shift()) {
        if (one.version <= published) continue;
        await publishVersion(bus, one, log);
        published = one.version;
      }
    } catch (err) {
      isPublished = false;
      log.debug({ event: 'event_not_published', err, instance_uuid: uuid }, 'event stays in the outbox');
    }
    // Before anybody can write the next version: of one process the store does in turn what it is asked.
    const marking = published > 0 ? instances.markPublished(uuid, published) : undefined;
    underWay.delete(uuid);
    await marking?.catch((err: unknown) =>
      log.debug({ event: 'event_not_marked', err, instance_uuid: uuid }, 'published event stays in the outbox'),
    );
    return isPublished;
  };

  return {
    publish(versions) {
      const uuid = versions[0]?.uuid ?? '';
      const present = underWay.get(uuid);
      if (present !== undefined) {
        present.next.push(...versions);
        return present.done;
      }
      const next = [...versions];
      // It is in the map before its first version is out.
      const done = Promise.resolve().then(() => publishAll(uuid, next));
      underWay.set(uuid, { next, done });
      return done;
    },

    async idle() {
      while (underWay.size > 0) await Promise.all([...underWay.values()].map(({ done }) => done));
    },
  };
}
