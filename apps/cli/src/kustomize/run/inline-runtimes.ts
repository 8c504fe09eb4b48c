import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { inlineProgram } from '@krmhub/functions/plan/inline-program';
import { byType, RUNTIMES } from '@krmhub/schema/definition';
import { MissingPermission } from '../../run/permissions.js';
import type { KustomizeArguments } from './kustomize-arguments.js';

/**
 * Throws unless the arguments after `--` allow a runtime that a functionConfig names itself. `krmhub build` passes
 * `--enable-alpha-plugins` to kustomize for functions of catalogs; an inline runtime keeps needing its own flags
 * (KEP-2906, "Determining the Function to Execute"). `where` names the functionConfig.
 */
export function requireInlineAllowed(where: string, runtime: InlineRuntime, args: KustomizeArguments): void {
  const needed = [
    ...(args.enableAlphaPlugins ? [] : ['--enable-alpha-plugins']),
    ...byType<InlineRuntime, string[]>(runtime, {
      container: ({ network }) => (network && !args.network ? ['--network'] : []),
      exec: () => (args.enableExec ? [] : ['--enable-exec']),
      // As kustomize asked for until version 5.4.
      starlark: () => (args.enableStar ? [] : ['--enable-star']),
    }),
  ];
  if (needed.length === 0) return;
  throw new MissingPermission(
    `${where}: it has its own runtime, the ${RUNTIMES[runtime.type].noun} ${inlineProgram(runtime)}, and you did not allow runtimes outside catalogs`,
    { flags: needed, hint: `If you trust it, allow it with: -- ${needed.join(' ')}` },
  );
}
