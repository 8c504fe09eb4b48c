import { type PinnedRuntime, pinnedPrograms, pinRuntime } from '@krmhub/catalog';
import type { RunResult } from '@krmhub/functions';
import { fullImage } from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import { type FunctionRuntime, RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import type { TestedResource } from '@krmhub/signing/test-result';
import { commandLineFunction } from '../fn/exec-function.js';
import type { Io } from '../io/io.js';
import { containerAccess, type RunPermissions } from '../run/permissions.js';
import { executableFor, hostPlatform } from '../run/platform.js';
import type { Run } from '../run/prepared-function.js';
import { Runner } from '../run/runner.js';
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
  /** Runs a container as kustomize and kpt do, as the user that the image calls nobody. */
  runAsNobody?: Run;
  /** What runs, by digest. Absent for what may change: a file of this machine, or an image without a digest. */
  runtime?: TestedResource;
  run(input: Uint8Array): Promise<RunResult>;
  close(): Promise<void>;
}

const OTHER_PROGRAM = 'To test a program of this machine, use --exec COMMAND or --image IMAGE.';

/**
 * Opens the runtime of one API version, or the program that the user named instead. Throws `untrusted` for what the
 * user does not allow, with the option.
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
  const runner = new Runner(io, permissions, { signal });
  const opened = (name: string, run: Run, more: Partial<OpenedFunction> = {}): OpenedFunction => ({
    name,
    isConfined: false,
    ...more,
    run: (input) => run(input, { signal }),
    close: () => runner.close(),
  });
  if (exec !== undefined) {
    const named = commandLineFunction(io, exec);
    return opened(named.name, runner.exec(named));
  }
  const kind =
    image === undefined
      ? (runtime ?? RUNTIME_KINDS.find((one) => version.runtime[one] !== undefined)!)
      : 'container';
  const [apiVersion, type] = [`${definition.group}/${version.name}`, definition.names.kind];
  const { container } = version.runtime;
  const access = () =>
    containerAccess(
      `${apiVersion} ${type}`,
      {
        network: container?.requireNetwork === true,
        storage: container?.requireStorageMount === true,
      },
      permissions,
    );
  const isConfined = ({ network, mounts }: Omit<ReturnType<typeof access>, 'notes'>) =>
    !network && mounts.length === 0;
  const unpinned = image ?? (kind === 'container' ? unpinnedImage(version.runtime) : undefined);
  if (unpinned !== undefined) {
    const container = { ...access(), image: fullImage(unpinned) };
    const run = runner.image(container);
    return opened(container.image, (...input) => run(...input).catch(hintAtPrograms), {
      isConfined: isConfined(container),
      runAsNobody: runner.image({ ...container, asNamedNobody: true }),
    });
  }
  const script = scripts.find(({ path }) => path[2] === at && path[4] === kind);
  if (script !== undefined) {
    return opened(script.name, runner.source({ name: script.name, script: script.bytes }));
  }
  const plan = pinRuntime(version.runtime, { runtime: kind });
  if (plan.type !== 'pinned') {
    const reason = plan.type === 'refused' ? plan.reason : 'its image has no digest';
    throw new KrmhubError('not-found', `cannot run ${apiVersion} ${type}: ${reason}`, {
      hint: OTHER_PROGRAM,
    });
  }
  const name = `${apiVersion} ${type}`;
  const entry = { apiVersion, kind: type, runtime: plan.runtime };
  const prepared = await runner.entry(entry).catch(hintAtPrograms);
  const pinned = plan.runtime.type === 'container' ? { ...access(), image: plan.runtime.image } : undefined;
  const runAsNobody = pinned && runner.image({ ...pinned, asNamedNobody: true });
  return opened(name, prepared.run, {
    isConfined: pinned !== undefined && isConfined(pinned),
    ...defined({ runAsNobody }),
    runtime: testedResource(version.name, name, plan.runtime),
  });
}

/** Throws an error again; the hint of one about what cannot be fetched or run names the options of authors too. */
function hintAtPrograms(error: unknown): never {
  const codes: readonly string[] = ['untrusted', 'unavailable', 'not-found'];
  if (!(error instanceof KrmhubError) || !codes.includes(error.code)) throw error;
  const hint = [error.hint, OTHER_PROGRAM].filter((one) => one !== undefined).join(' ');
  throw new KrmhubError(error.code, error.message, { hint, cause: error });
}

/** What runs: the image, the executable of this machine's platform, or the script. */
function testedResource(version: string, name: string, runtime: PinnedRuntime): TestedResource {
  const resource = (what: string, uri: string, sha256: string) => ({
    name: `${version} ${what}`,
    uri,
    digest: { sha256: sha256.slice('sha256:'.length) },
  });
  if (runtime.type === 'exec') {
    const { uri, sha256 } = executableFor(name, runtime.platforms);
    return resource(`exec ${hostPlatform()}`, uri, sha256);
  }
  const { uri, sha256 } = pinnedPrograms(runtime)[0]!;
  return resource(runtime.type, runtime.type === 'container' ? `oci://${uri}` : uri, sha256);
}

/** The image of the definition, if it has no digest. */
function unpinnedImage(runtime: FunctionRuntime): string | undefined {
  if (runtime.container === undefined) return undefined;
  const plan = pinRuntime(runtime, { runtime: 'container' });
  if (plan.type === 'pinned') return undefined;
  if (plan.type === 'ask') return plan.reference;
  throw new KrmhubError(
    'invalid-document',
    `cannot run the image ${runtime.container.image}: ${plan.reason}`,
  );
}
