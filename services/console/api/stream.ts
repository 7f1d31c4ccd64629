import type { Problem } from './session';

/**
 * `GET /api/stream?page=...`: the server-sent events of a page, named by their keys. Each carries the whole state of
 * its name, so that a page which missed some is right again with the next; except `fleet`, which carries changes after
 * a first `fleet_all`.
 */
export interface StreamEvents<Page> {
  readonly shell: Shell;
  readonly page: Page;
  /** Why the page can't be read now. */
  readonly problem: Problem;
  /** The token is no longer valid. */
  readonly signed_out: Problem;
}

/** The data of the frame around every page. */
export interface Shell {
  /** The server's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly hosts: HostCounts;
  /** Number of instances with a claim. */
  readonly instances: number;
  readonly pending: number;
  /** Why the data may be outdated; '' when current. */
  readonly stale: string;
  readonly drains: readonly Drain[];
  /** A scheduler for Nova is there: its page is shown among the others. */
  readonly hasNova: boolean;
}

export interface HostCounts {
  readonly all: number;
  readonly down: number;
  readonly disabled: number;
  readonly draining: number;
  readonly doubtful: number;
  readonly failing: number;
}

/** A drain of this console, running or ended. */
export interface Drain {
  readonly host: string;
  readonly userId: string;
  readonly startedAtMs: number;
  readonly done: number;
  readonly all: number;
  readonly isOver: boolean;
  /** The staying instances with reasons; or the reason of a failed drain. */
  readonly stays: readonly { readonly uuid: string; readonly name: string; readonly reason: string }[];
}

/** An operator's action by a console. */
export interface Action {
  readonly id: string;
  readonly atMs: number;
  readonly userId: string;
  readonly projectId: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, string>>;
  readonly error: Problem | undefined;
}
