import { runChain } from '@krmhub/functions/chain/run-chain';
import type { StepResult } from '@krmhub/functions/chain/step';
import { DEFAULT_RUN_LIMITS, FUNCTION_ENVIRONMENT } from '@krmhub/functions/limits';
import { finishRun } from '@krmhub/functions/output/finish-run';
import type { FunctionResult } from '@krmhub/functions/output/function-result';
import { planWrite } from '@krmhub/functions/package-files/plan-write';
import { readResources } from '@krmhub/functions/resource-list/read-resources';
import { Resource } from '@krmhub/functions/resource-list/resource';
import { schemasValue } from '@krmhub/functions/starlark/context';
import { executeScript } from '@krmhub/functions/starlark/execute-script';
import { KrmhubError } from '@krmhub/schema/error';

/** What a page asks to run. */
export interface ScriptRun {
  /** Of the script, for positions in messages. */
  name: string;
  script: Uint8Array;
  functionConfig: string;
  /** YAML documents: the package has this one file. */
  resources: string;
  /** JSON of `ctx.open_api`, for a script that reads it. */
  schemas?: string;
}

/** How the run ended. All text is of the function. */
export interface ScriptOutcome {
  /** The file afterwards; that of before if the function failed. */
  resources: string;
  /** Files that the function added, by path. */
  added: Record<string, string>;
  results: FunctionResult[];
  /** What `print` wrote, and why the script failed. */
  printed: string;
  /** Why the run failed. */
  failure?: string;
}

/** Name of the file that the page edits. */
export const FILE = 'resources.yaml';

/** Runs a script as `krmhub fn eval` does, on a package that is only in memory. */
export async function runScript(run: ScriptRun): Promise<ScriptOutcome> {
  const { name, functionConfig } = run;
  const unchanged = { resources: run.resources, added: {}, results: [], printed: '' };
  try {
    const file = readFile(run.resources);
    const { resources, steps } = await runChain(file.resources, [
      { name, type: 'mutator', functionConfig, run: async (input) => execute(run, input) },
    ]);
    const [step] = steps as [StepResult];
    const ended = {
      results: [...step.results],
      printed: new TextDecoder().decode(step.stderr),
    };
    if (step.error !== undefined) return { ...unchanged, ...ended, failure: describe(step.error) };
    const { changes } = planWrite(file, resources);
    const texts = new Map(
      changes.map((change) => [change.path, change.type === 'delete' ? '' : change.after]),
    );
    const after = texts.get(FILE) ?? run.resources;
    texts.delete(FILE);
    return { ...ended, resources: after, added: Object.fromEntries(texts) };
  } catch (error) {
    if (error instanceof KrmhubError) return { ...unchanged, failure: describe(error) };
    throw error;
  }
}

function execute({ name, script, schemas }: ScriptRun, input: Uint8Array) {
  const lines: string[] = [];
  const { exitCode, output } = executeScript(
    { name, script, input, environment: FUNCTION_ENVIRONMENT },
    (line) => lines.push(`${line}\n`),
    () => schemasValue(schemas ?? '{}'),
  );
  const encoder = new TextEncoder();
  const stderr = encoder.encode(lines.join('')).subarray(0, DEFAULT_RUN_LIMITS.maxStderrBytes);
  const end = { type: 'exited', exitCode } as const;
  const ended = { end, output: encoder.encode(output), stderr, stderrTruncated: false };
  return finishRun(ended, { name, input, limits: DEFAULT_RUN_LIMITS, isWrapped: false });
}

function readFile(text: string) {
  const read = readResources(text, { path: FILE });
  const file = { path: FILE, text, mode: 0, owner: 0, group: 0, version: NO_VERSION };
  return {
    folder: '',
    files: new Map([[FILE, file]]),
    skipped: [],
    resources: read.map((one, index) => new Resource(one.body, one, { path: FILE, index, isChanged: false })),
  };
}

const NO_VERSION = { inode: 0n, size: 0n, modifiedNanoseconds: 0n, changedNanoseconds: 0n };

function describe({ message, hint }: KrmhubError): string {
  return hint === undefined ? message : `${message}\n${hint}`;
}
