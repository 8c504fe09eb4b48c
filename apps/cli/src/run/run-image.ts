import type { Environment } from '@krmhub/consume/ports';
import {
  type Engine,
  type PullPolicy,
  type RunLimits,
  type RunResult,
  runContainerCommand,
} from '@krmhub/functions';
import { namedImageArguments } from '@krmhub/functions/containers/container-arguments';
import { identifyImage } from '@krmhub/functions/containers/identify-image';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';

/** An image that the user, a package, or a functionConfig names. */
export interface NamedImage {
  image: string;
  /** Default: `missing`. */
  pull?: PullPolicy;
  /** Default: the number of nobody. */
  asCurrentUser?: boolean;
  /** As the user that the image calls nobody, whom kustomize and kpt name. */
  asNamedNobody?: boolean;
  /** `NAME=VALUE`, or the name of a variable of the user. */
  env?: readonly string[];
  network?: boolean;
  mounts?: readonly string[];
  /** Arguments of `docker` that another program has chosen, without the image: all of the above does not apply. */
  arguments?: readonly string[];
  /** Called before it runs, with the exact image, where the engine says which that is. */
  onExact?: (exact: string) => void | Promise<void>;
}

/** Runs an image that a command names: see `Runner.image`. Of a tag, the exact image is found before. */
export async function runImage(
  io: Environment,
  engine: Engine,
  named: NamedImage,
  input: Uint8Array,
  limits: RunLimits,
  signal: AbortSignal | undefined,
): Promise<RunResult> {
  const { pull = 'missing', arguments: chosen, onExact } = named;
  const found = await identifyImage(engine, named.image, { pull, ...defined({ signal }) });
  if (found.exact !== undefined) await onExact?.(found.exact);
  const { image } = found;
  if (chosen !== undefined) {
    const [command = 'run', ...rest] = chosen;
    const argumentsFor = (name: string) => [command, '--name', name, ...rest, image];
    return runContainerCommand(engine, { image, argumentsFor }, input, limits, signal);
  }
  const argumentsFor = ownArguments(io, engine, { ...named, image, pull });
  const result = await runContainerCommand(engine, { image, argumentsFor }, input, limits, signal);
  return { ...result, stderr: Buffer.from(functionStderr(Buffer.from(result.stderr).toString())) };
}

function ownArguments(
  io: Environment,
  engine: Engine,
  { image, pull, asCurrentUser = false, asNamedNobody = false, ...more }: NamedImage,
): (name: string) => string[] {
  const { env = [], network = false, mounts = [] } = more;
  const given = env.map(readVariable);
  const run = {
    ...engine,
    image,
    network,
    mounts,
    env: Object.fromEntries(given.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    passEnv: given.flatMap(({ name, value }) =>
      value === undefined && io.env[name] !== undefined ? [name] : [],
    ),
    ...defined({
      pull: pull === 'always' ? 'missing' : pull,
      user: asCurrentUser ? currentUser() : asNamedNobody ? 'nobody' : undefined,
    }),
  };
  return (name) => namedImageArguments(run, name);
}

/** What engines print while they download an image. */
const DOWNLOAD =
  /^(?:Unable to find image |Digest: sha256:|Status: Downloaded |Trying to pull |Getting image source |Copying |Writing manifest |Storing signatures|\S+: (?:Pulling |Already exists|Verifying Checksum|Download complete|Waiting|Pull complete))/;

/** The error output of the function itself, without the last line end, as kpt shows it. */
function functionStderr(text: string): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .filter((line) => !DOWNLOAD.test(line))
    .join('\n');
}

function readVariable(text: string): { name: string; value?: string } {
  const at = text.indexOf('=');
  return at === -1 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

function currentUser(): string {
  const { getuid, getgid } = process;
  if (getuid !== undefined && getgid !== undefined) return `${getuid()}:${getgid()}`;
  throw new KrmhubError('unsupported', 'cannot use --as-current-user: this system has no user ids');
}
