import type { Problem } from './session';

/**
 * `GET /api/stream?page=...`: what a page is told by server-sent events, named by their keys. Each is the whole state of what
 * it names, so that a page which missed some is right again with the next; but for `fleet`, which tells changes after a
 * first `fleet_all`.
 */
export interface StreamEvents<Page> {
  readonly shell: Shell;
  readonly page: Page;
  /** The page can't be told now, and why. */
  readonly problem: Problem;
  /** The token is not valid any more. */
  readonly signed_out: Problem;
}

/** What the frame around every page shows. */
export interface Shell {
  /** The server's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly hosts: HostCounts;
  /** Instances that hold something. */
  readonly instances: number;
  readonly pending: number;
  /** Why what is shown may be old; '' when it is not. */
  readonly stale: string;
  readonly drains: readonly Drain[];
}

export interface HostCounts {
  readonly all: number;
  readonly down: number;
  readonly disabled: number;
  readonly draining: number;
  readonly doubtful: number;
  readonly failing: number;
}

/** A drain that this console carries out, or has carried out. */
export interface Drain {
  readonly host: string;
  readonly userId: string;
  readonly startedAtMs: number;
  readonly done: number;
  readonly all: number;
  readonly isOver: boolean;
  /** What stays, and why; or why the drain has failed. */
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
