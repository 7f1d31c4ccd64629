/** What a search has found. */
export interface Found {
  readonly kind: 'host' | 'instance';
  readonly id: string;
  readonly label: string;
}
