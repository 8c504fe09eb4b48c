import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export const EXPECTED = '.expected';

/** `.expected/config.yaml` of a case, as `pkg/test/runner` of kpt reads it. */
export interface CaseConfig {
  testType: string;
  exitCode: number;
  /** Text that standard error contains. */
  stdErr: string;
  stdErrRegEx: string;
  stdOut: string;
  /** Lines with one of these texts are left out of standard error, and of the results, before they are compared. */
  stdErrStripLines: string[];
  actualStripLines: string[];
  /** How often the command runs over the same package, each time with the same result. */
  runCount: number | undefined;
  skip: boolean;
  debug: boolean;
  sequential: boolean;
  disableOutputTruncate: boolean;
  allowExec: boolean;
  allowNetwork: boolean;
  allowWasm: boolean;
  imagePullPolicy: string | undefined;
  /** Engines that the case is for; all if empty. */
  runtimes: string[];
  image: string | undefined;
  exec: string | undefined;
  args: [name: string, value: string][];
  network: boolean;
  includeMetaResources: boolean;
  fnConfig: string | undefined;
  /** Fields that the harness does not know. */
  unknown: string[];
}

const KNOWN = new Set([
  'testType',
  'exitCode',
  'stdErr',
  'stdErrRegEx',
  'stdOut',
  'stdErrStripLines',
  'actualStripLines',
  'runCount',
  'nonIdempotent',
  'skip',
  'debug',
  'sequential',
  'disableOutputTruncate',
  'allowExec',
  'allowNetwork',
  'allowWasm',
  'imagePullPolicy',
  'runtimes',
  'image',
  'exec',
  'execPath',
  'args',
  'network',
  'includeMetaResources',
  'fnConfig',
  'evalConfig',
]);

/** Reads the configuration of the case in a folder. Throws an Error for a file that is not YAML, or no mapping. */
export function readConfig(folder: string): CaseConfig {
  const file = path.join(folder, EXPECTED, 'config.yaml');
  const content: unknown = existsSync(file) ? parse(readFileSync(file, 'utf8')) : {};
  if (content !== null && (typeof content !== 'object' || Array.isArray(content))) {
    throw new Error(`${file}: must be a mapping`);
  }
  const outer = (content ?? {}) as Record<string, unknown>;
  // Older cases have the fields of `fn eval` in a mapping of their own.
  const fields: Record<string, unknown> = { ...outer, ...(outer.evalConfig as object | undefined) };
  const text = (name: string) =>
    fields[name] === undefined || fields[name] === null ? undefined : String(fields[name]);
  const flag = (name: string) => fields[name] === true;
  const lines = (name: string) => (Array.isArray(fields[name]) ? fields[name].map(String) : []);
  const count = text('runCount');
  return {
    testType: text('testType') ?? 'render',
    exitCode: Number(text('exitCode') ?? 0),
    stdErr: text('stdErr') ?? '',
    stdErrRegEx: text('stdErrRegEx') ?? '',
    stdOut: text('stdOut') ?? '',
    stdErrStripLines: lines('stdErrStripLines'),
    actualStripLines: lines('actualStripLines'),
    runCount: count === undefined ? undefined : Number(count),
    skip: flag('skip'),
    debug: flag('debug'),
    sequential: flag('sequential'),
    disableOutputTruncate: flag('disableOutputTruncate'),
    allowExec: flag('allowExec'),
    allowNetwork: flag('allowNetwork'),
    allowWasm: flag('allowWasm'),
    imagePullPolicy: text('imagePullPolicy'),
    runtimes: lines('runtimes'),
    image: text('image'),
    exec: text('execPath') ?? text('exec'),
    args: Object.entries((fields.args as object | undefined) ?? {}).map(([name, value]) => [
      name,
      String(value),
    ]),
    network: flag('network'),
    includeMetaResources: flag('includeMetaResources'),
    fnConfig: text('fnConfig'),
    unknown: Object.keys(fields).filter((name) => !KNOWN.has(name)),
  };
}
