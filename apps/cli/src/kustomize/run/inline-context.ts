import { DEFAULT_RUN_LIMITS, type Engine, findEngine } from '@krmhub/functions';
import { defined } from '@krmhub/schema/defined';
import { escapeControls } from '@krmhub/schema/text';
import { childEnvironment } from '../../io/child-environment.js';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import type { RunPermissions } from '../../run/runner.js';
import type { InlineContext } from './run-inline.js';
import type { TreeCopy } from './tree-copy.js';

/**
 * Returns what runtimes need that functionConfigs name themselves. The engine is looked for when the first one runs.
 */
export function inlineContext(
  io: Io,
  { engine, timeoutSeconds }: RunPermissions,
  copy: TreeCopy,
  signal: AbortSignal,
): InlineContext {
  const timeout = timeoutSeconds === undefined ? DEFAULT_RUN_LIMITS.timeout : timeoutSeconds * 1_000;
  let found: Promise<Engine> | undefined;
  return {
    engine: () => {
      found ??= findEngine({
        env: childEnvironment(io),
        signal,
        ...defined({ engine }),
      });
      return found;
    },
    onExact: (image, exact) => printLine(io, escapeControls(`${image} is ${exact}`)),
    // kustomize accepts YAML documents from a function that a functionConfig names itself.
    limits: { ...DEFAULT_RUN_LIMITS, acceptDocuments: true, timeout },
    mapPaths: (text) => copy.mapPaths(text),
  };
}
