import { type PinnedRuntime, pinRuntime } from '@krmhub/catalog';
import { DEFAULT_RUN_LIMITS, findEngine, type RunResult } from '@krmhub/functions';
import { RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import type { TestedResource } from '@krmhub/signing/test-result';
import { commandLineFunction, execFunction } from '../fn/exec-function.js';
import { imageFunction } from '../fn/image-function.js';
import type { Io } from '../io/io.js';
import { openRunner } from '../run/open-runner.js';
import { containerAccess } from '../run/permissions.js';
import { executableFor, hostPlatform } from '../run/platform.js';
import type { RunPermissions } from '../run/runner.js';
import type { AuthoredFunction } from './read-function.js';

/** What runs as the function. */
export interface TestedProgram {
  /** A command line. */
  exec?: string;
  image?: string;
  /** Default: the first of container, exec, and Starlark that the definition has. */
  runtime?: RuntimeKind;
}

/** A function that is ready to run. */
export interface OpenedFunction {
  /** As it is printed. */
  name: string;
  /** It is a container that runs as nobody and without network. */
  isConfined: boolean;
  /** What runs, by digest. Absent for what has none: a file or an image of this machine. */
  runtime?: TestedResource;
  run(input: Uint8Array): Promise<RunResult>;
  close(): Promise<void>;
}

const nothing = async () => undefined;

/**
 * Opens the runtime of one API version, or the program that the user named instead. Throws `untrusted` for what the user does not
 * allow, with the option.
 */
export async function openFunction(
  io: Io,
  { definition, scripts }: AuthoredFunction,
  at: number,
  { exec, image, runtime }: TestedProgram,
  permissions: RunPermissions,
  signal: AbortSignal,
): Promise<OpenedFunction> {
  const version = definition.versions[at]!;
  const { timeoutSeconds, engine: wanted } = permissions;
  const limits = {
    ...DEFAULT_RUN_LIMITS,
    ...(timeoutSeconds === undefined ? {} : { timeout: timeoutSeconds * 1_000 }),
  };
  if (exec !== undefined) {
    const { run, name } = execFunction(io, commandLineFunction(io, exec), limits);
    return { name, isConfined: false, run: (input) => run(input, { signal }), close: nothing };
  }
  const kind =
    image === undefined
      ? (runtime ?? RUNTIME_KINDS.find((one) => version.runtime[one] !== undefined)!)
      : 'container';
  const [apiVersion, type] = [`${definition.group}/${version.name}`, definition.names.kind];
  const { container } = version.runtime;
  if (kind === 'container' && (image !== undefined || container !== undefined)) {
    const declared = {
      network: container?.requireNetwork === true,
      storage: container?.requireStorageMount === true,
    };
    const { network, mounts } = containerAccess(`${apiVersion} ${type}`, declared, permissions);
    const named = image ?? imageOf(version.runtime);
    const opened = imageFunction(
      io,
      {
        image: named,
        network,
        mounts,
        pull: 'missing',
        asCurrentUser: false,
        env: [],
      },
      {
        engine: () =>
          findEngine({ env: io.env, signal, ...(wanted === undefined ? {} : { engine: wanted }) }),
        limits,
      },
    );
    const isConfined = !network && mounts.length === 0;
    const runtime = containerResource(version.name, named);
    return {
      name: opened.name,
      isConfined,
      ...(runtime === undefined ? {} : { runtime }),
      run: (input) => opened.run(input, { signal }),
      close: nothing,
    };
  }
  const script = scripts.find(({ path }) => path[2] === at);
  if (kind === 'starlark' && script !== undefined) {
    const { runStarlark } = await import('@krmhub/functions/starlark/run-starlark');
    const task = { name: script.name, script: script.bytes };
    return {
      name: script.name,
      isConfined: false,
      run: (input) => runStarlark(task, input, limits, signal),
      close: nothing,
    };
  }
  const plan = pinRuntime(version.runtime, { runtime: kind });
  if (plan.type !== 'pinned') {
    const reason = plan.type === 'refused' ? plan.reason : 'its image has no digest';
    throw new KrmhubError('not-found', `cannot run ${apiVersion} ${type}: ${reason}`, {
      hint: 'To test a program of this machine, use --exec COMMAND or --image IMAGE.',
    });
  }
  const runner = await openRunner(io, permissions, { signal });
  const prepared = await runner.prepare({ apiVersion, kind: type, runtime: plan.runtime });
  return {
    name: `${apiVersion} ${type}`,
    isConfined: false,
    runtime: fetchedResource(version.name, `${apiVersion} ${type}`, plan.runtime),
    run: (input) => prepared.run(input, { signal }),
    close: () => runner.close(),
  };
}

function containerResource(version: string, image: string): TestedResource | undefined {
  const [, digest] = /@sha256:([0-9a-f]{64})$/.exec(image) ?? [];
  if (digest === undefined) return undefined;
  return { name: `${version} container`, uri: `oci://${image}`, digest: { sha256: digest } };
}

/** The executable of this machine's platform, or the script. */
function fetchedResource(version: string, name: string, runtime: PinnedRuntime): TestedResource {
  if (runtime.type === 'container') throw new RangeError('containers are not fetched');
  const { uri, sha256 } =
    runtime.type === 'exec'
      ? executableFor(name, runtime.platforms)
      : { uri: runtime.reference, sha256: runtime.sha256 };
  return {
    name: runtime.type === 'exec' ? `${version} exec ${hostPlatform()}` : `${version} starlark`,
    uri,
    digest: { sha256: sha256.slice('sha256:'.length) },
  };
}

/** The image with its digest, if the definition has it. */
function imageOf(runtime: Parameters<typeof pinRuntime>[0]): string {
  const plan = pinRuntime(runtime, { runtime: 'container' });
  if (plan.type === 'pinned' && plan.runtime.type === 'container') return plan.runtime.image;
  if (plan.type === 'ask') return plan.reference;
  throw new KrmhubError(
    'invalid-document',
    `cannot run the image ${runtime.container?.image ?? ''}${plan.type === 'refused' ? `: ${plan.reason}` : ''}`,
  );
}
