import type { JsonObject } from '@krmhub/yaml/json-value';

/** What the page of a function needs to try one API version of it in a browser. */
export interface TryItData {
  group: string;
  kind: string;
  /** Name of the API version. */
  version: string;
  /** `openAPIV3Schema` of the functionConfig. */
  schema: JsonObject;
  /** A functionConfig to start with, as YAML. */
  functionConfig: string;
  /** YAML documents to start with. */
  resources: string;
  examples: TryItExample[];
  /** The script that the browser runs. Absent if it runs nothing. */
  script?: TryItScript;
  /** Paths of files of this registry. */
  files: Record<'style' | 'config' | 'rules' | 'run' | 'frame' | 'schemas', string>;
}

/** A script in this registry. */
export interface TryItScript {
  path: string;
  /** `sha256:` and 64 digits. */
  digest: string;
}

/** What a tester recorded: files before and after the function. */
export interface TryItExample {
  name: string;
  functionConfig?: string;
  /** Files by path. */
  input: Record<string, string>;
  /** The files after the function. Absent if it failed. */
  output?: Record<string, string>;
  /** What the function reported, or why it failed. */
  messages: string[];
}
