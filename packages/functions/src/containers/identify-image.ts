import { fullRepository, parseImageReference } from '@krmhub/schema/image-reference';
import type { PullPolicy } from './container-arguments.js';
import type { Engine } from './container-run.js';
import { downloadImage, type PullOptions, runEngine } from './images.js';

/** The image that a name means for an engine now. */
export interface IdentifiedImage {
  /** What to run: `REPOSITORY@DIGEST`, the id of an image without a repository, or the name itself. */
  image: string;
  /** Says exactly which image it is; absent where the engine does not say. */
  exact?: string;
}

/** The digests of an image in repositories, as JSON, and its id. */
const FORMAT = '{{json .RepoDigests}} {{.Id}}';
const IMAGE_ID = /^(?:sha256:)?[a-f0-9]{64}$/;

/**
 * Finds the exact image of a tag, so that no other one runs than is shown: the one that the engine has, which it
 * downloads before as `pull` says. Rejects with `unavailable` if it cannot be downloaded. Nothing runs.
 */
export async function identifyImage(
  engine: Engine,
  image: string,
  { pull = 'missing', ...options }: PullOptions & { pull?: PullPolicy } = {},
): Promise<IdentifiedImage> {
  const reference = parseImageReference(image);
  if (reference.ok && reference.digest !== undefined) return { image, exact: image };
  const known = pull === 'always' ? undefined : await inspect(engine, image, options.signal);
  if (known !== undefined) return known;
  // The engine says in its words that an image is not there.
  if (pull === 'never') return { image };
  await downloadImage(engine, image, options);
  return (await inspect(engine, image, options.signal)) ?? { image };
}

/** Undefined if the engine does not have the image. */
async function inspect(
  engine: Engine,
  image: string,
  signal: AbortSignal | undefined,
): Promise<IdentifiedImage | undefined> {
  const args = ['image', 'inspect', '--format', FORMAT, image];
  const { end, output } = await runEngine(engine, args, { signal });
  if (end.type !== 'exited' || end.exitCode !== 0) return undefined;
  const text = Buffer.from(output).toString().trim();
  const space = text.lastIndexOf(' ');
  const [digests, id] = [text.slice(0, Math.max(space, 0)), text.slice(space + 1)];
  const found = repositoryDigests(digests).find((one) => fullRepository(one) === fullRepository(image));
  if (found !== undefined) return { image: found, exact: found };
  return IMAGE_ID.test(id) ? { image: id, exact: `${id}, which is in no registry` } : { image };
}

function repositoryDigests(json: string): string[] {
  try {
    const value: unknown = JSON.parse(json);
    const texts = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
    return texts.filter((one) => {
      const reference = parseImageReference(one);
      return reference.ok && reference.digest !== undefined;
    });
  } catch {
    return [];
  }
}
