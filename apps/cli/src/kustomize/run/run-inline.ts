import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { byType } from '@krmhub/schema/definition';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import type { Runner } from '../../run/runner.js';
import type { PlannedFunction } from './planned-function.js';

export interface InlineContext {
  runner: Runner;
  /** Turns paths of the copy into those of the user. */
  mapPaths(text: string): string;
}

/**
 * Returns how an inline runtime runs: as kustomize would run it. A container gets the arguments that kustomize chose,
 * from its own flags. An executable runs where it is, in the folder of the layer, with the environment of the user.
 */
export function inlineRun(
  io: Io,
  runtime: InlineRuntime,
  layer: string,
  { runner, mapPaths }: InlineContext,
): PlannedFunction['run'] {
  return byType<InlineRuntime, PlannedFunction['run']>(runtime, {
    container({ image }) {
      const onExact = async (exact: string) => {
        if (exact !== image) await printLine(io, escapeControls(`${image} is ${exact}`));
      };
      return ({ args, input }, signal) =>
        runner.image({ image, arguments: args.slice(0, -1).map(mapPaths), onExact })(input, { signal });
    },
    exec({ path: program, args }) {
      const run = runner.exec({
        words: [program, ...args],
        folder: layer,
        missing: {
          message: `the executable ${program} is not on PATH`,
          hint: `Use a path with a slash for a file in ${layer}: ./${program}`,
        },
      });
      return ({ input }, signal) => run(input, { signal });
    },
    starlark(script) {
      const run = runner.script(script, layer);
      return ({ input }, signal) => run(input, { signal });
    },
  });
}
