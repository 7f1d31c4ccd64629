/** A search result. */
export interface Found {
  readonly kind: 'host' | 'instance' | 'project' | 'request' | 'zone';
  readonly id: string;
  readonly label: string;
  /** Distinguishes things of one name. */
  readonly note: string;
}
