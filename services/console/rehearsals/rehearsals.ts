import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import { EXIT } from '#libs/runtime/exit-codes';
import type { RehearsalRow } from '../api/rehearsals';
import type { Problem } from '../api/session';
import type { BerthEnd, BerthProcess, StartBerth } from './berth-process';
import { type RehearsalLine, shownLine } from './command-line';

interface RehearsalsParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Undefined where no process can be started. */
  readonly berth: StartBerth | undefined;
  readonly maxRehearsals: number;
}

/** Limit of one rehearsal: it keeps a place that others wait for. */
const TIMEOUT_MS = 900_000;
/** Limit of those that are over and still shown. */
const KEPT = 8;

/** A rehearsal with what is kept of it. */
interface Kept {
  readonly row: RehearsalRow;
  readonly report: string | undefined;
}

/** The rehearsals of this console, each a process of its own. They end with it. */
export class Rehearsals {
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, { readonly child: BerthProcess; readonly over: Promise<void> }>();
  readonly #listeners = new Set<() => void>();

  constructor(private readonly parts: RehearsalsParts) {}

  /** Rehearsals that may run at once. */
  get max(): number {
    return this.parts.berth === undefined ? 0 : this.parts.maxRehearsals;
  }

  /**
   * Begins a rehearsal. @throws BerthError `already_exists / rehearsing` for a second one of the same user,
   * `resource_exhausted / too_many_rehearsals`, `unimplemented / no_rehearsals`
   */
  start(userId: string, line: RehearsalLine): void {
    const { berth, clock, random } = this.parts;
    if (berth === undefined || this.max === 0) {
      throw new BerthError(
        'unimplemented',
        'no_rehearsals',
        'this console starts no rehearsals (BERTH_CONSOLE_MAX_REHEARSALS)',
      );
    }
    if ([...this.#running.keys()].some((id) => this.#kept.get(id)?.row.userId === userId)) {
      throw new BerthError('already_exists', 'rehearsing', `a rehearsal of ${userId} runs already; cancel it, or wait`);
    }
    if (this.#running.size >= this.max) {
      const message = `${this.max} rehearsals run (BERTH_CONSOLE_MAX_REHEARSALS)`;
      throw new BerthError('resource_exhausted', 'too_many_rehearsals', message);
    }
    const id = random.uuid();
    const child = berth(line, (done, all) => this.#change(id, { done, all }));
    const row: RehearsalRow = {
      id,
      userId,
      line: shownLine(line),
      startedAtMs: clock.now(),
      endedAtMs: undefined,
      done: 0,
      all: 0,
      state: 'running',
      problem: undefined,
    };
    this.#kept.set(id, { row, report: undefined });
    const cancelTimer = clock.after(TIMEOUT_MS, () => this.#stop(id, 'failed', tooSlow()));
    const over = child.ended.then((end) => {
      cancelTimer();
      this.#running.delete(id);
      this.#end(id, end);
    });
    this.#running.set(id, { child, over });
    this.#publish();
  }

  /** Ends a rehearsal that runs. */
  cancel(id: string): void {
    this.#stop(id, 'cancelled', undefined);
  }

  /** Newest first. */
  list(): readonly RehearsalRow[] {
    return Array.from(this.#kept.values(), ({ row }) => row).toReversed();
  }

  /** The report of one that is done, JSON. @throws BerthError `not_found / no_such_rehearsal` */
  report(id: string): string {
    const report = this.#kept.get(id)?.report;
    if (report === undefined) throw new BerthError('not_found', 'no_such_rehearsal', `there is no report of ${id}`);
    return report;
  }

  /** Calls back after each change. Returns the unsubscription. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    for (const { child } of this.#running.values()) child.stop();
    await Promise.all(Array.from(this.#running.values(), ({ over }) => over));
  }

  #stop(id: string, state: RehearsalRow['state'], problem: Problem | undefined): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#change(id, { state, problem });
    running.child.stop();
  }

  #end(id: string, end: BerthEnd): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    const endedAtMs = this.parts.clock.now();
    if (kept.row.state !== 'running') this.#change(id, { endedAtMs });
    else if (hasReport(end)) this.#keep(id, { row: { ...kept.row, state: 'done', endedAtMs }, report: end.out });
    else this.#change(id, { state: 'failed', endedAtMs, problem: problemOf(end) });
    const over = [...this.#kept.keys()].filter((one) => !this.#running.has(one));
    for (const old of over.slice(0, Math.max(0, over.length - KEPT))) this.#kept.delete(old);
  }

  #change(id: string, change: Partial<RehearsalRow>): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined) this.#keep(id, { ...kept, row: { ...kept.row, ...change } });
  }

  #keep(id: string, kept: Kept): void {
    this.#kept.set(id, kept);
    this.#publish();
  }

  #publish(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A broken invariant has a report, too. */
function hasReport({ code, out, isTooLong }: BerthEnd): boolean {
  return !isTooLong && out !== '' && (code === EXIT.ok || code === EXIT.failed);
}

/** `berth: MESSAGE (code/reason)` as `reportFailure` of the command line writes it. */
const FAILURE = /^berth: (.*?)(?: \((\w+)\/(\w+)\))?$/m;

function problemOf({ err, isTooLong }: BerthEnd): Problem {
  if (isTooLong) {
    const message = 'its report is longer than this console keeps: give the command to a shell, with --json';
    return { code: 'resource_exhausted', reason: 'report_too_long', message };
  }
  const [, message, code = 'internal', reason = 'rehearsal_failed'] = FAILURE.exec(err) ?? [];
  const last = err.trim().split('\n').at(-1) ?? '';
  return { code, reason, message: message ?? `the process ended without a report${last === '' ? '' : `: ${last}`}` };
}

function tooSlow(): Problem {
  const message = `it took longer than ${TIMEOUT_MS / 60_000} minutes: ask for fewer seeds, or give the command to a shell`;
  return { code: 'deadline_exceeded', reason: 'rehearsal_timeout', message };
}
