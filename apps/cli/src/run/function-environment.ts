import type { Environment } from '@krmhub/consume/ports';

/** Of the user's environment, what an executable needs to find programs and to print text. Never tokens. */
const PASSED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LC_CTYPE'];
/** Of kustomize, for a plugin. */
const PASSED_PLUGIN = ['KUSTOMIZE_PLUGIN_CONFIG_ROOT'];

/** Returns the environment of an executable function. kustomize and kpt pass all of theirs. */
export function functionEnvironment({ env }: Environment): Record<string, string> {
  return Object.fromEntries(
    [...PASSED, ...PASSED_PLUGIN].flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
