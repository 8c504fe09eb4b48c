import { KrmhubError } from '@krmhub/schema/error';

export interface StarlarkRun {
  /** The script, for messages: a URL, an OCI reference, or a path. */
  reference: string;
}

/** Rejects with `unsupported`: there is no Starlark interpreter yet. */
export async function runStarlark({ reference }: StarlarkRun): Promise<never> {
  throw new KrmhubError(
    'unsupported',
    `cannot run the function ${reference}: krmhub does not run Starlark functions yet`,
    { hint: 'Use a release of the function with a container or an executable.' },
  );
}
