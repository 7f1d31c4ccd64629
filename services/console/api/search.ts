/** A search result. */
export interface Found {
  readonly kind: 'host' | 'instance';
  readonly id: string;
  readonly label: string;
}
