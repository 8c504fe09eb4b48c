/** What a thread gets to run a script. */
export interface ScriptTask {
  name: string;
  script: Uint8Array;
  /** A ResourceList. */
  input: Uint8Array;
  /** `ctx.environment`. */
  environment: Readonly<Record<string, string>>;
}

/** What the thread sends: error output as it comes, then the end. */
export type ScriptMessage =
  | { type: 'stderr'; text: string }
  | { type: 'ended'; exitCode: 0 | 1; output: Uint8Array };
