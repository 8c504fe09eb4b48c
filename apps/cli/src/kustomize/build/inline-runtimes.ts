import type { InlineRuntime } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';
import type { KustomizeArguments } from './kustomize-arguments.js';

/**
 * Throws unless the arguments after `--` allow a runtime that a functionConfig names itself. `krmhub build` passes
 * `--enable-alpha-plugins` to kustomize for functions of catalogs; an inline runtime keeps needing its own flags (KEP-2906,
 * "Determining the Function to Execute"). `where` names the functionConfig.
 */
export function requireInlineAllowed(where: string, runtime: InlineRuntime, args: KustomizeArguments): void {
  if (runtime.type === 'starlark') {
    throw new KrmhubError('unsupported', `${where}: cannot run its Starlark script`, {
      hint: 'kustomize does not run Starlark since version 5.5. Use a container, an executable, or a function from a catalog.',
    });
  }
  const needed = [
    ...(args.enableAlphaPlugins ? [] : ['--enable-alpha-plugins']),
    ...(runtime.type === 'exec' && !args.enableExec ? ['--enable-exec'] : []),
    ...(runtime.type === 'container' && runtime.network && !args.network ? ['--network'] : []),
  ];
  if (needed.length === 0) return;
  const what = runtime.type === 'exec' ? `the executable ${runtime.path}` : `the image ${runtime.image}`;
  throw new KrmhubError(
    'untrusted',
    `${where}: it has its own runtime, ${what}, and you did not allow runtimes outside catalogs`,
    { hint: `If you trust it, allow it with: -- ${needed.join(' ')}` },
  );
}
