/** What names a resource, and what selectors match. Absent fields are empty. */
export interface ResourceIdentity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Where a resource is in its package. */
export interface ResourcePlace {
  /** File with slashes, relative to its package; empty for a resource that has none yet. */
  readonly path: string;
  /** Number of the document in its file; undefined for a resource that has none yet. */
  readonly index: number | undefined;
  /** Value of the annotation `package-path`; empty if it is not set. */
  readonly packagePath: string;
}
