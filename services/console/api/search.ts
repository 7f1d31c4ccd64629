/** A search result. */
export interface Found {
  readonly kind: 'host' | 'instance' | 'project' | 'zone';
  readonly id: string;
  readonly label: string;
  /** What tells it from others of its name. */
  readonly note: string;
}
