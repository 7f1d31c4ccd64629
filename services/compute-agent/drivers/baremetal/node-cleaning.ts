import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import type { NodeVerb } from '#libs/domain/nodes/node-state';
import { isFenced } from '../fenced';
import type { ManagedNode } from './managed-node';

/** Cleans a node whenever its state asks for it, before the next instance gets it. */
export class NodeCleaning {
  readonly #managed: ManagedNode;
  #running: Promise<void> | undefined;
  #interruption = new AbortController();

  constructor(managed: ManagedNode) {
    this.#managed = managed;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when no cleaning runs. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** Ends a running cleaning; the node's state decides whether it is cleaned again. */
  async interrupt(): Promise<void> {
    this.#interruption.abort();
    await this.#running;
  }

  startIfDue(): void {
    const { node, closing } = this.#managed;
    if (node.record.state !== 'cleaning' || this.#running) return;
    this.#interruption = new AbortController();
    const signal = AbortSignal.any([closing.signal, this.#interruption.signal]);
    this.#running = cleanAtLast(this.#managed, signal).finally(() => {
      this.#running = undefined;
    });
  }

  /** Changes the node's state, and cleans it if due. The state changes even when the write fails: the next change writes both. */
  async move(verb: NodeVerb, fields?: Partial<NodeRecord>): Promise<void> {
    try {
      await this.#managed.node.move(verb, fields);
    } finally {
      this.startIfDue();
    }
  }
}

async function cleanAtLast(managed: ManagedNode, signal: AbortSignal): Promise<void> {
  const { node, clock, pollMs, isCertain } = managed;
  while (!signal.aborted && node.record.state === 'cleaning') {
    try {
      await cleanOnce(managed, signal);
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (signal.aborted || error.reason === 'epoch_superseded' || node.record.state !== 'cleaning') return;
      // The lease may be renewed once reports arrive again, and nobody else would clean the node.
      if (isFenced(error) || !isCertain()) await sleep(clock, pollMs, signal);
      else await cleaningFailed(managed, error);
    }
  }
}

async function cleanOnce({ node, provisioning, claimPatiently }: ManagedNode, signal: AbortSignal): Promise<void> {
  await claimPatiently(signal);
  await provisioning.clean(signal);
  if (!signal.aborted && node.record.state === 'cleaning') {
    await node.move('cleaned', { step: '', isOn: false, bootDevice: 'Hdd' });
  }
}

async function cleaningFailed({ node, log, health }: ManagedNode, error: BerthError): Promise<void> {
  log.error({ event: 'cleaning_failed', host: node.record.host, error }, 'node cleaning failed');
  health.note('');
  await node.move('fail', { reason: `cleaning failed: ${error.message}`, step: '' }).catch(() => {});
}
