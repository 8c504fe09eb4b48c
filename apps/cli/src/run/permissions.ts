import type { EngineName } from '@krmhub/functions';
import { KrmhubError } from '@krmhub/schema/error';

/** What the user allows functions to do on this machine. */
export interface RunPermissions {
  /** Run executables. */
  allowExec: boolean;
  /** Network access, for functions whose catalog declares it. */
  network: boolean;
  /** Mounts as in kustomize, for functions whose catalog declares them: `type=bind,source=/folder,target=/folder`. */
  mounts: readonly string[];
  /** Default: the first that runs. */
  engine?: EngineName;
  /** Default: 300. */
  timeoutSeconds?: number;
}

/** The user did not allow what a function needs, and which options would. */
export class MissingPermission extends KrmhubError {
  readonly options: readonly string[];
  /** Flags of kustomize, after `--`. */
  readonly flags: readonly string[];

  constructor(
    message: string,
    { options = [], flags = [], hint }: { options?: string[]; flags?: string[]; hint?: string },
  ) {
    super('untrusted', message, {
      hint: hint ?? `If you trust the function, add: ${optionText(options, flags)}`,
    });
    this.options = options;
    this.flags = flags;
  }
}

function optionText(options: readonly string[], flags: readonly string[]): string {
  return [...new Set(options), ...(flags.length === 0 ? [] : ['--', ...new Set(flags)])].join(' ');
}

/**
 * Plans functions one after the other. Goes on after one that lacks a permission, and throws one error for all of them,
 * so that the user can decide once.
 */
export async function planAll<Item, Planned>(
  items: Iterable<Item>,
  plan: (item: Item) => Planned | Promise<Planned>,
): Promise<Planned[]> {
  const planned: Planned[] = [];
  const failed: { error: KrmhubError; missing: MissingPermission }[] = [];
  for (const item of items) {
    try {
      planned.push(await plan(item));
    } catch (error) {
      const missing = missingPermission(error);
      if (missing === undefined) throw error;
      failed.push({ error: error as KrmhubError, missing });
    }
  }
  const [first, ...others] = failed;
  if (first === undefined) return planned;
  if (others.length === 0) throw first.error;
  const options = failed.flatMap(({ missing }) => missing.options);
  const flags = failed.flatMap(({ missing }) => missing.flags);
  const messages = [...new Set(failed.map(({ error }) => error.message))];
  throw new KrmhubError('untrusted', messages.join('\n'), {
    hint: `If you trust these functions, add: ${optionText(options, flags)}`,
    cause: first.error,
  });
}

/** An error can be wrapped to say which function it is about. */
function missingPermission(error: unknown): MissingPermission | undefined {
  if (error instanceof MissingPermission) return error;
  return error instanceof KrmhubError ? missingPermission(error.cause) : undefined;
}

/** What a function of a container gets. */
export interface ContainerAccess {
  network: boolean;
  mounts: readonly string[];
  /** What the user allowed and the catalog does not declare. */
  notes: string[];
}

/**
 * Returns the access of a container: what the catalog declares and the user allows. Throws `untrusted`, with the flag,
 * for what is declared and not allowed: without it, the function would fail in its own words.
 */
export function containerAccess(
  name: string,
  declared: { network: boolean; storage: boolean },
  allowed: RunPermissions,
): ContainerAccess {
  const missing = [
    ...(declared.network && !allowed.network ? [{ what: 'network access', flag: '--network' }] : []),
    ...(declared.storage && allowed.mounts.length === 0
      ? [{ what: 'mounts', flag: '--mount type=bind,source=FOLDER,target=/PATH' }]
      : []),
  ];
  if (missing.length > 0) {
    const whats = missing.map(({ what }) => what).join(' and ');
    throw new MissingPermission(`cannot run ${name}: it requires ${whats}, and you did not allow it`, {
      options: missing.map(({ flag }) => flag),
    });
  }
  return {
    network: declared.network,
    mounts: declared.storage ? allowed.mounts : [],
    notes: [
      ...(allowed.network && !declared.network
        ? [
            'it ran without network access: you allowed it (--network), but the catalog entry does not have requireNetwork',
          ]
        : []),
      ...(allowed.mounts.length > 0 && !declared.storage
        ? [
            'it ran without mounts: you allowed them (--mount), but the catalog entry does not have requireStorageMount',
          ]
        : []),
    ],
  };
}

/** Throws `untrusted` unless the user allows executables. */
export function requireExecAllowed(name: string, permissions: RunPermissions): void {
  if (permissions.allowExec) return;
  throw new MissingPermission(`cannot run ${name}: it is an executable, and you did not allow executables`, {
    options: ['--allow-exec'],
    hint: 'An executable runs on this machine with your permissions. If you trust its publisher, use --allow-exec.',
  });
}
