import { FunctionFailure, type FunctionResult, type RunResult } from '@krmhub/functions';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import type { CallResult, FunctionCall } from './function-calls.js';
import { aboutFunction } from './plan-functions.js';
import { type PlannedFunction, placeText } from './planned-function.js';

/** Results of a failed function that an error shows. */
const MAX_RESULTS = 10;

/** Runs what kustomize asks for, if it was planned. */
export class PlannedCalls {
  readonly #planned: readonly PlannedFunction[];
  /** For messages. */
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #used = new Set<PlannedFunction>();

  constructor(planned: readonly PlannedFunction[], name: string, signal: AbortSignal) {
    this.#planned = planned;
    this.#name = name;
    this.#signal = signal;
  }

  async run(call: FunctionCall): Promise<CallResult> {
    const found = this.#find(call.args);
    try {
      const result = await found.run(call, this.#signal);
      if (result.exitCode === 0) return result;
      return { ...result, failure: failed(found, result) };
    } catch (error) {
      const failure = aboutFunction(found.place, error);
      if (!(error instanceof FunctionFailure)) throw failure;
      return { exitCode: error.exitCode ?? 1, output: new Uint8Array(), stderr: error.stderr, failure };
    }
  }

  /** Lists the functions that kustomize did not run: a validator that did not run must not look successful. */
  unused(): string[] {
    return this.#planned.filter((one) => !this.#used.has(one)).map(({ place }) => placeText(place));
  }

  #find(args: readonly string[]): PlannedFunction {
    const image = args.at(-1);
    const network = args[args.indexOf('--network') + 1] !== 'none';
    const found = this.#planned.filter((one) => one.image === image && one.network === network);
    if (args[0] !== 'run' || found.length === 0) {
      const what = args[0] === 'run' ? `the image ${image}` : `docker ${args[0]}`;
      throw new KrmhubError(
        'untrusted',
        `cannot build ${this.#name}: kustomize tried to run ${what}, which is not in a functionConfig`,
        {
          hint: `List the functions: krmhub explain ${shellWord(this.#name)}`,
        },
      );
    }
    for (const one of found) this.#used.add(one);
    return found[0]!;
  }
}

function failed({ place, notes }: PlannedFunction, { exitCode, results }: RunResult): KrmhubError {
  const shown = results.slice(0, MAX_RESULTS).map(resultLine);
  const more = results.length > shown.length ? [`and ${results.length - shown.length} more`] : [];
  return new KrmhubError(
    'function-failed',
    [`${placeText(place)}: the function failed with exit code ${exitCode}`, ...notes, ...shown, ...more].join(
      '\n',
    ),
  );
}

function resultLine({ severity = 'error', message, resourceRef, field }: FunctionResult): string {
  const resource = [resourceRef?.kind, resourceRef?.name].filter((part) => part !== undefined).join(' ');
  const at = [resource, field?.path].filter((part) => part !== undefined && part !== '').join(' ');
  return `[${severity}]${at === '' ? '' : ` ${at}:`} ${message.replaceAll('\n', ' ')}`;
}
