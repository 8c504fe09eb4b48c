import type { InlineContainer, InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { inlineProgram } from '@krmhub/functions/plan/inline-program';
import { byType } from '@krmhub/schema/definition';
import { shellWord } from '@krmhub/schema/text';
import { absoluteMount } from '../run/mounts.js';
import { MissingPermission } from '../run/permissions.js';
import { execFunction, requirePackageExec } from './exec-function.js';
import type { FnSession } from './fn-session.js';
import type { Runnable } from './runnable.js';
import type { FnSettings } from './settings.js';

/** What a container of a declaration gets. */
interface DeclaredAccess {
  network: boolean;
  mounts: readonly string[];
  env: readonly string[];
}

/**
 * Returns the access that a declaration asks for, and the user allowed. Throws `untrusted` with the options that would
 * allow the rest. kustomize mounts nothing without its own options either.
 */
function requireDeclared(
  where: string,
  { network, mounts, envs }: InlineContainer,
  { permissions, images }: FnSettings,
  folder: string,
): DeclaredAccess {
  const wanted = mounts.map((text) => absoluteMount(text, folder));
  const missing = [
    ...(network && !permissions.network ? ['--network'] : []),
    ...wanted.filter((one) => !permissions.mounts.includes(one)).map((one) => `--mount ${shellWord(one)}`),
    ...envs.filter((one) => !images.env.includes(one)).map((one) => `--env ${shellWord(one)}`),
  ];
  if (missing.length > 0) {
    throw new MissingPermission(`${where}: it asks for access that you did not allow`, { options: missing });
  }
  return { network, mounts: wanted, env: envs };
}

/**
 * Returns the function that a functionConfig names itself, if the user allows it. `where` names it in messages,
 * `folder` is that of the package, and `own` that of the functionConfig.
 */
export async function declaredFunction(
  { functions, settings }: FnSession,
  runtime: InlineRuntime,
  { where, folder, own }: { where: string; folder: string; own: string },
): Promise<Runnable> {
  return byType<InlineRuntime, Runnable | Promise<Runnable>>(runtime, {
    container: (container) =>
      functions.image(
        { image: container.image, prefix: '', asWritten: true },
        requireDeclared(where, container, settings, folder),
      ),
    exec({ path, args }) {
      requirePackageExec(settings, `${where}: ${path}`);
      const words = [path, ...args] as const;
      return functions.exec(execFunction(words, words.join(' '), folder));
    },
    starlark: (script) => functions.script(script, script.name ?? inlineProgram(script), own),
  });
}
