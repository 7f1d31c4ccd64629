/** Bytes of one message type, both ways. `decode` throws `invalid_argument` for malformed bytes. */
export interface Codec<T> {
  /** Full protobuf name. */
  readonly type: string;
  encode(value: T): Uint8Array;
  decode(body: Uint8Array): T;
}

/** A question and its answer. */
export interface Method<Q, A> {
  readonly request: Codec<Q>;
  readonly response: Codec<A>;
}

/** The bytes of a `berth.scheduler.v1.RequestSpec`, unchecked: most who have a message with one only pass it on. */
export type EncodedRequestSpec = Uint8Array;
