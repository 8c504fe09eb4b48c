import type { Environment } from '@krmhub/consume/ports';

/** Variables of krmhub that are no secret, and that a `krmhub` needs that a child starts. */
const PASSED = new Set(['KRMHUB_CACHE', 'KRMHUB_CONFIG', 'KRMHUB_TRUST', 'KRMHUB_TRUSTED_ROOT']);

/** Secrets of other tools that krmhub signs with. */
const SIGNING_SECRETS = new Set(['COSIGN_PASSWORD', 'SIGSTORE_ID_TOKEN', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN']);

/** Reports whether no child may see a variable: it can be a token, a password, or a URL with one. */
export function isOwnVariable(name: string): boolean {
  return (/^KRMHUB_/i.test(name) && !PASSED.has(name)) || SIGNING_SECRETS.has(name);
}

/**
 * Returns the environment of a child that gets that of the user: kustomize, git, a container engine, a credential
 * helper, or a program that the user allowed. The tokens and passwords of krmhub are not in it.
 */
export function childEnvironment({ env }: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      return value !== undefined && !isOwnVariable(name);
    }),
  );
}
