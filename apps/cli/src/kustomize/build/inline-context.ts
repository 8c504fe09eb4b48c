import { DEFAULT_RUN_LIMITS, type Engine, findEngine } from '@krmhub/functions';
import { childEnvironment } from '../../io/child-environment.js';
import type { Io } from '../../io/io.js';
import type { RunPermissions } from '../../run/runner.js';
import type { InlineContext } from './run-inline.js';
import type { TreeCopy } from './tree-copy.js';

/**
 * Returns what runtimes need that functionConfigs name themselves. The engine is looked for when the first one runs.
 */
export function inlineContext(
  io: Pick<Io, 'env'>,
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
        ...(engine === undefined ? {} : { engine }),
      });
      return found;
    },
    limits: { ...DEFAULT_RUN_LIMITS, timeout },
    mapPaths: (text) => copy.mapPaths(text),
  };
}
