/** What a runtime of a functionConfig runs, in words, without the YAML parser that reads it. */

import { byType } from '@krmhub/schema/documents/runtimes';
import type { InlineRuntime } from './declared-runtime.js';

/** Returns what a runtime names to run: an image, a path, or a URL. */
export function inlineProgram(runtime: InlineRuntime): string {
  return byType(runtime, {
    container: ({ image }) => image,
    exec: ({ path }) => path,
    starlark: ({ path, url }) => path ?? url ?? '',
  });
}
