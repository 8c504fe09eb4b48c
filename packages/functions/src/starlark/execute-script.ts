import { KrmhubError } from '@krmhub/schema/error';
import { compile, parse, run, type Value } from '@krmhub/starlark';
import { Context } from './context.js';
import { FUNCTION_DIALECT, PREDECLARED } from './dialect.js';
import { createFailure, describeFailure } from './failure-text.js';
import { loadModule } from './modules.js';
import { ResourceListFile } from './resource-list-file.js';
import type { ScriptTask } from './script-task.js';

export interface ScriptOutcome {
  exitCode: 0 | 1;
  /** A ResourceList, that of a failed script with its result. */
  output: string;
}

const NO_ITEMS = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';

/**
 * Runs a script with a ResourceList, as the Starlark function of kpt does: `ctx.resource_list` is changed in place,
 * `ctx.open_api` has the schemas of Kubernetes, `ctx.environment` the variables of a function. `print` and the reason
 * of a failure go to error output. `readOpenApi` returns the value of `ctx.open_api`.
 */
export function executeScript(
  task: ScriptTask,
  print: (line: string) => void,
  readOpenApi: () => Value,
): ScriptOutcome {
  const { name, script, input, environment } = task;
  const source = new TextDecoder().decode(script);
  let file: ResourceListFile | undefined;
  try {
    file = new ResourceListFile(input);
    const program = compile(parse(source, { file: name }), {
      predeclared: PREDECLARED,
      dialect: FUNCTION_DIALECT,
    });
    const ctx = new Context(file.value, environment, readOpenApi);
    run(program, { predeclared: new Map<string, Value>([['ctx', ctx]]), load: loadModule, print });
    return { exitCode: 0, output: file.write() };
  } catch (error) {
    const failure =
      error instanceof KrmhubError ? createFailure(error.message) : describeFailure(error, source);
    if (failure === undefined) throw error;
    print(failure.details.trimEnd());
    return { exitCode: 1, output: failedOutput(file, failure.message) };
  }
}

function failedOutput(file: ResourceListFile | undefined, message: string): string {
  const failed = file ?? new ResourceListFile(new TextEncoder().encode(NO_ITEMS));
  return failed.withResults([{ message, severity: 'error' }]);
}
