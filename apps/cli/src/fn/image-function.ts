import type { Environment } from '@krmhub/consume/ports';
import type { Engine, NamedImageRun, RunLimits } from '@krmhub/functions';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Runnable } from './runnable.js';
import type { ImageSettings } from './settings.js';

/** An image that the user or a Kptfile names, and what it may do. */
export interface ImageFunction extends ImageSettings {
  /** As it is shown. */
  name: string;
  /** What runs. The exact image of a tag is found before. */
  image: string;
  network: boolean;
  mounts: readonly string[];
}

/** How an image runs. */
export interface ImageContext {
  engine: () => Promise<Engine>;
  limits: RunLimits;
  /** Called before it runs, with the exact image, if its name does not say that. */
  onExact?: (exact: string) => void;
}

/** Returns a function that is an image, with or without a digest. The engine is looked for when it runs. */
export function imageFunction(
  io: Environment,
  { name, image, network, mounts, pull, asCurrentUser, env }: ImageFunction,
  { engine, limits, onExact = () => undefined }: ImageContext,
): Runnable {
  const given = env.map(readVariable);
  const user = asCurrentUser ? currentUser() : undefined;
  return {
    name,
    recorded: { image: name },
    run: async (input, { signal }) => {
      const found = await engine();
      const { identifyImage } = await import('@krmhub/functions/containers/identify-image');
      const { image: exactImage, exact } = await identifyImage(found, image, {
        pull,
        ...defined({ signal }),
      });
      if (exact !== undefined && exact !== name) onExact(exact);
      const run: NamedImageRun = {
        ...found,
        image: exactImage,
        network,
        mounts,
        env: Object.fromEntries(
          given.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
        ),
        passEnv: given.flatMap(({ name, value }) =>
          value === undefined && io.env[name] !== undefined ? [name] : [],
        ),
        pull: pull === 'always' ? 'missing' : pull,
        ...defined({ user }),
      };
      const { runNamedImage } = await import('@krmhub/functions/containers/run-container');
      const result = await runNamedImage(run, input, limits, signal);
      return { ...result, stderr: Buffer.from(functionStderr(Buffer.from(result.stderr).toString())) };
    },
  };
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
