/** What the registry measures; a part of it names the methods that it calls. */
export interface Metrics {
  /** `route` is the path's template, so that the number of time series is bounded. */
  request(method: string, route: string, status: number, seconds: number): void;
  /** Gives what counts answers that were there as they are; timing them would cost more than they do. */
  storedResponses(route: string): (method: string, status: number) => void;
  publish(outcome: string): void;
  /** `snapshot` says whether the bytes of the catalog changed. */
  cut(catalog: string, outcome: 'snapshot' | 'unchanged' | 'failed', seconds: number): void;
  catalogFunctions(catalog: string, functions: number): void;
  /** `at` is in milliseconds since the epoch. */
  signatureExpires(catalog: string, at: number): void;
  /** `outcome` is what a look at a source found: that it changed or not, or its problem. */
  refresh(catalog: string, source: string, outcome: string): void;
  /** In the text format of Prometheus. */
  render(): Promise<string>;
  contentType: string;
}
