declare module '@elastic/mockotlpserver' {
  /** The used part of OTLP's `ExportTraceServiceRequest`, with identifiers in hexadecimal and attributes by name. */
  export interface ExportRequest {
    readonly resourceSpans: readonly {
      readonly resource: { readonly attributes: Readonly<Record<string, string>> };
      readonly scopeSpans: readonly {
        readonly spans: readonly {
          readonly name: string;
          readonly traceId: string;
          readonly spanId: string;
          readonly parentSpanId?: string;
        }[];
      }[];
    }[];
  }

  export class MockOtlpServer {
    constructor(options: {
      readonly services: readonly ('http' | 'grpc')[];
      readonly grpcHostname: string;
      readonly grpcPort: number;
      readonly logLevel: string;
      readonly onTrace: (request: unknown) => void;
    });
    readonly grpcUrl: URL;
    start(): Promise<void>;
    close(): Promise<void>;
  }

  export function normalizeTrace(request: unknown): ExportRequest;
}
